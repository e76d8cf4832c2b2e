"""Accounts of people in a tenant's API server: a ServiceAccount each, tokens that hang on a Secret each.

A token bound to a Secret ends within seconds of that Secret's removal, and all of an account's tokens with
the ServiceAccount. So nothing that we hand out outlives its grant, and we need not know the tokens.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.errors import BadAnswer
from clusters.clients.kube.models import Access, Kind, Manifest, Ref
from clusters.kube import kinds, objects

NAMESPACE = "freehold"
RBAC = "rbac.authorization.k8s.io"
MEMBER = "freehold.io/account"
OWN_LABELS = "freehold.io/"
BUILT_IN = "kubernetes.io/bootstrapping"
SYSTEM = "kube-"  # namespaces of the control plane's own accounts
LOOK, EDIT = "view", "edit"
KINDS = (kinds.SERVICE_ACCOUNT, kinds.SECRET, kinds.CLUSTER_ROLE_BINDING, kinds.ROLE_BINDING)
MOST_FOUND = 200
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Issued:
    """A token and the end that the server gave it, which may be sooner than what was asked for."""

    token: str = field(repr=False)
    expires_at: dt.datetime


@dataclass(frozen=True, slots=True)
class Survey:
    """What is in the API server that we did not make; credentials made there end with no grant of ours."""

    accounts: tuple[str, ...]  # namespace/name
    bindings: tuple[str, ...]  # kind, name, role, and to whom


def ensure(client: KubeClient, *, name: str, role: str, labels: Labels) -> None:
    """The account, with exactly the rights of this ClusterRole: view, edit or cluster-admin.

    `edit` may take the place of any ServiceAccount of a namespace. So it is bound in each namespace but ours
    and Kubernetes' own, and what is there is looked at everywhere; call again to follow new namespaces.
    """
    mine = {**labels, MEMBER: name}
    client.apply(
        objects.manifest(kinds.SERVICE_ACCOUNT, name, {}, namespace=NAMESPACE, labels=mine),
        kinds.SERVICE_ACCOUNT,
    )
    wanted = {str(_ref(one)): one for one in _bindings(client, name, role, mine)}
    present = {str(_ref(one)): one for one in _own_bindings(client, mine)}
    for key in present.keys() - wanted.keys():
        _delete(client, present[key])
    for key in wanted.keys() - present.keys():
        client.apply(wanted[key], _ref(wanted[key]).kind)


def issue(client: KubeClient, *, name: str, secret: str, seconds: int, labels: Labels) -> Issued:
    """A token of the account that lasts as long as the Secret, and no longer than the server allows."""
    mine = {**labels, MEMBER: name}
    anchor = client.apply(
        objects.manifest(kinds.SECRET, secret, {"type": "Opaque"}, namespace=NAMESPACE, labels=mine),
        kinds.SECRET,
    )
    bound = {"apiVersion": "v1", "kind": "Secret", "name": secret, "uid": anchor["metadata"]["uid"]}
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds, "boundObjectRef": bound},
    }
    answer = client.post(Ref(kinds.SERVICE_ACCOUNT, name, NAMESPACE), "token", asked).get("status") or {}
    try:
        return Issued(str(answer["token"]), dt.datetime.fromisoformat(str(answer["expirationTimestamp"])))
    except (KeyError, ValueError) as error:
        raise BadAnswer("The API server gave no token.") from error


def revoke(client: KubeClient, *, secret: str) -> None:
    """End the tokens that hang on this Secret; absent is fine."""
    found = client.get(Ref(kinds.SECRET, secret, NAMESPACE))
    if found is not None:
        _delete(client, found)


def remove(client: KubeClient, *, name: str, labels: Labels) -> None:
    """End the account with all its tokens, its rights and the Secrets; absent is fine."""
    mine = {**labels, MEMBER: name}
    found = client.get(Ref(kinds.SERVICE_ACCOUNT, name, NAMESPACE))
    if found is not None:
        _delete(client, found)
    secrets = client.list(kinds.SECRET, namespace=NAMESPACE, labels=mine)
    for one in (*_own_bindings(client, mine), *secrets):
        _delete(client, one)


def survey(client: KubeClient) -> Survey:
    """ServiceAccounts and bindings that neither we nor Kubernetes itself made."""
    accounts = [
        f"{one['metadata']['namespace']}/{one['metadata']['name']}"
        for one in client.list(kinds.SERVICE_ACCOUNT)
        if _is_foreign(one) and one["metadata"]["name"] != "default"
    ]
    bindings = [
        f"{kind.kind} {one['metadata']['name']}: {_role(one)} for {', '.join(_subjects(one)) or 'nobody'}"
        for kind in (kinds.CLUSTER_ROLE_BINDING, kinds.ROLE_BINDING)
        for one in client.list(kind)
        if _is_foreign(one)
    ]
    return Survey(tuple(sorted(accounts)[:MOST_FOUND]), tuple(sorted(bindings)[:MOST_FOUND]))


def kubeconfig(access: Access, *, cluster: str, user: str, issued: Issued) -> bytes:
    """A kubeconfig with the server's own CA and a token; JSON strings are YAML."""

    def text(value: str) -> str:
        return json.dumps(value, ensure_ascii=True)

    lines = (
        "apiVersion: v1",
        "kind: Config",
        f"current-context: {text(cluster)}",
        "clusters:",
        f"- name: {text(cluster)}",
        "  cluster:",
        f"    server: {text(access.server + access.prefix)}",
        f"    certificate-authority-data: {objects.coded(access.ca_pem)}",
        "contexts:",
        f"- name: {text(cluster)}",
        "  context:",
        f"    cluster: {text(cluster)}",
        f"    user: {text(user)}",
        "users:",
        f"- name: {text(user)}",
        "  user:",
        f"    token: {text(issued.token)}",
    )
    return "\n".join((*lines, "")).encode("ascii")


def _bindings(client: KubeClient, name: str, role: str, labels: Labels) -> Iterator[Manifest]:
    everywhere = LOOK if role == EDIT else role
    yield _binding(kinds.CLUSTER_ROLE_BINDING, name, everywhere, labels)
    if role == EDIT:
        for namespace in client.list(kinds.NAMESPACE):
            title = str(namespace["metadata"]["name"])
            active = (namespace.get("status") or {}).get("phase") == "Active"
            if active and title != NAMESPACE and not title.startswith(SYSTEM):
                yield _binding(kinds.ROLE_BINDING, name, role, labels, namespace=title)


def _binding(kind: Kind, name: str, role: str, labels: Labels, *, namespace: str = "") -> Manifest:
    bound = {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
    }
    # a binding's role cannot be changed, so each role has a binding of its own
    return objects.manifest(kind, f"freehold:{name}:{role}", bound, namespace=namespace, labels=labels)


def _own_bindings(client: KubeClient, labels: Labels) -> tuple[Manifest, ...]:
    return (
        *client.list(kinds.CLUSTER_ROLE_BINDING, labels=labels),
        *client.list(kinds.ROLE_BINDING, labels=labels),
    )


def _ref(found: Manifest) -> Ref:
    kind = next(kind for kind in KINDS if kind.kind == found["kind"])
    return Ref(kind, found["metadata"]["name"], found["metadata"].get("namespace", ""))


def _delete(client: KubeClient, found: Manifest) -> None:
    client.delete(_ref(found), uid=str(found["metadata"]["uid"]))


def _is_foreign(found: Manifest) -> bool:
    meta = found["metadata"]
    labels = meta.get("labels") or {}
    ours = any(label.startswith(OWN_LABELS) for label in labels)
    return not ours and BUILT_IN not in labels and not str(meta.get("namespace", "")).startswith(SYSTEM)


def _role(binding: Manifest) -> str:
    return str((binding.get("roleRef") or {}).get("name", ""))


def _subjects(binding: Manifest) -> Iterator[str]:
    for one in binding.get("subjects") or ():
        where = f"{one['namespace']}/" if one.get("namespace") else ""
        yield f"{one.get('kind', '')} {where}{one.get('name', '')}"
