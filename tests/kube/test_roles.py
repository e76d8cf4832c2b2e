"""The rights that the repository gives the portal: named one by one, and no way to more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.kube import kinds, objects
from tests.kube import roles
from tests.kube.server import KubeServer

MEMBERS = ["cluster-admin", "edit", "view"]


def rules(role: str) -> Iterator[dict[str, Any]]:
    """Every rule of a file."""
    for one in roles.documents(role):
        yield from one.get("rules") or ()


@pytest.mark.parametrize("role", roles.names())
def test_every_right_is_named(role: str) -> None:
    found = list(rules(role))
    assert found
    for rule in found:
        words = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
        assert "*" not in words, rule
        assert not {"escalate", "impersonate", "deletecollection", "watch", "update"} & set(rule["verbs"]), (
            rule
        )
        assert not any(resource.endswith(("/attach", "/portforward")) for resource in rule["resources"])


def test_programs_are_run_in_pods_only_where_a_step_binds_the_role_for_it() -> None:
    by_role = {
        one["metadata"]["name"]: one["rules"]
        for role in roles.names()
        for one in roles.documents(role)
        if "rules" in one
    }
    running = {name for name, found in by_role.items() if "pods/exec" in str(found)}
    assert running == {"test-tenant-freehold-console"}
    (rule,) = by_role["test-tenant-freehold-console"]
    assert (rule["resources"], sorted(rule["verbs"])) == (["pods/exec"], ["create", "get"])
    bound = [
        one["roleRef"]["name"] for role in roles.names() for one in roles.documents(role) if "roleRef" in one
    ]
    assert bound
    assert running.isdisjoint(bound)


def test_only_the_three_roles_of_members_and_the_console_may_be_given_away() -> None:
    given = [rule for role in roles.names() for rule in rules(role) if "bind" in rule["verbs"]]
    assert [sorted(rule["resourceNames"]) for rule in given] == [MEMBERS, ["freehold-console"]]


def test_the_proxy_reaches_the_slurm_api_and_nothing_else() -> None:
    proxied = [
        rule for role in roles.names() for rule in rules(role) if "services/proxy" in rule["resources"]
    ]
    assert proxied
    assert all(name.startswith("slurm-restapi") for rule in proxied for name in rule["resourceNames"])


@pytest.mark.slow
@pytest.mark.xdist_group("kube")
def test_nobody_reads_what_is_not_his(kube_server: KubeServer) -> None:
    hidden = objects.secret("bmc", {"password": b"s3cr3t"}, namespace="metal3-system")
    kube_server.ensure_namespace("metal3-system")
    kube_server.client.apply(hidden.manifest, kinds.SECRET)
    assert kube_server.client.get(hidden.ref) is not None
    for role in ("control-plane", "argocd"):
        client = KubeClient(roles.access(kube_server, role))
        with pytest.raises(errors.Forbidden):
            client.get(hidden.ref)
        with pytest.raises(errors.Forbidden):
            client.list(kinds.SECRET)
    for role in roles.names():
        client = KubeClient(roles.access(kube_server, role))
        with pytest.raises(errors.Forbidden):
            client.get(Ref(kinds.CLUSTER_ROLE, "cluster-admin"))
        role_of_all = {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
        with pytest.raises(errors.Forbidden):
            client.apply(objects.manifest(kinds.CLUSTER_ROLE, "mine", role_of_all), kinds.CLUSTER_ROLE)


@pytest.mark.slow
@pytest.mark.xdist_group("kube")
def test_members_are_bound_to_the_three_roles_and_no_other(kube_server: KubeServer) -> None:
    client = KubeClient(roles.access(kube_server, "tenant"))
    subject = {"kind": "ServiceAccount", "name": "fhmember1", "namespace": "freehold"}
    for name in (*MEMBERS, "system:kube-controller-manager"):
        bound = {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        }
        body = objects.manifest(kinds.CLUSTER_ROLE_BINDING, f"test-{name.rpartition(':')[2]}", bound)
        if name in MEMBERS:
            made = client.apply(body, kinds.CLUSTER_ROLE_BINDING)
            ref = Ref(kinds.CLUSTER_ROLE_BINDING, f"test-{name.rpartition(':')[2]}")
            client.delete(ref, uid=made["metadata"]["uid"])
        else:
            with pytest.raises(errors.Forbidden):
                client.apply(body, kinds.CLUSTER_ROLE_BINDING)
