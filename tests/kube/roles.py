"""The portal's own rights, as deploy/rbac gives them: applied as they are, and worked with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Kind, Ref, ref_of
from clusters.kube import kinds
from tests.kube.server import KubeServer

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "rbac"
HOME = "test-portal"  # of the accounts
DEADLINE = 60.0
UNBOUND = "-console"  # a role that a step binds, where it is needed
KINDS: dict[str, Kind] = {
    one.kind: one
    for one in (
        kinds.SERVICE_ACCOUNT,
        kinds.ROLE,
        kinds.ROLE_BINDING,
        kinds.CLUSTER_ROLE,
        kinds.CLUSTER_ROLE_BINDING,
    )
}


def names() -> list[str]:
    """Every role that there is a file for."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def documents(role: str) -> Iterator[dict[str, Any]]:
    """The objects of one file, under other names: a step may make the very same objects on the server."""
    text = (FOLDER / f"{role}.yaml").read_text(encoding="utf-8")
    for one in yaml.safe_load_all(text):
        if one["kind"] == "Namespace":
            continue
        one["metadata"]["name"] = f"test-{role}-{one['metadata']['name']}"
        if one["kind"] == "ServiceAccount":
            one["metadata"]["namespace"] = HOME
        for subject in one.get("subjects") or ():
            subject.update(name=f"test-{role}-{subject['name']}", namespace=HOME)
        if "roleRef" in one:
            one["roleRef"]["name"] = f"test-{role}-{one['roleRef']['name']}"
        yield one


_given: dict[tuple[str, str], Access] = {}


def access(server: KubeServer, role: str) -> Access:
    """Come in as a role's ServiceAccount; its file is applied once for each server. The rights hold then."""
    key = (server.url, role)
    if key not in _given:
        _given[key] = _access(server, role)
    return _given[key]


def _access(server: KubeServer, role: str) -> Access:
    account: Ref | None = None
    rules: list[dict[str, Any]] = []
    where = ""
    for one in documents(role):
        kind = KINDS[one["kind"]]
        server.ensure_namespace(one["metadata"].get("namespace", HOME))
        server.client.apply(one, kind)
        if kind == kinds.SERVICE_ACCOUNT:
            account = ref_of(one, kind)
        if kind in {kinds.ROLE, kinds.CLUSTER_ROLE} and not one["metadata"]["name"].endswith(UNBOUND):
            rules, where = one["rules"], one["metadata"].get("namespace", "")
    assert account is not None
    given = server.account(account.name, namespace=account.namespace)
    _wait(KubeClient(given), rules, where)
    return given


def _wait(client: KubeClient, rules: list[dict[str, Any]], namespace: str) -> None:
    wish = {
        "verb": rules[-1]["verbs"][0],
        "group": rules[-1]["apiGroups"][0],
        "resource": rules[-1]["resources"][0],
        "name": (rules[-1].get("resourceNames") or [""])[0],
        "namespace": namespace,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {"name": ""},
        "spec": {"resourceAttributes": wish},
    }
    kind = Kind("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False)
    end = time.monotonic() + DEADLINE
    while not client.create(review, kind)["status"]["allowed"]:
        assert time.monotonic() < end, f"the rights of {client} do not come"
        time.sleep(0.05)
