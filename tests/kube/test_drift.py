"""Drift as a real API server makes it: defaults, merged lists, other managers, normalised numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from clusters.clients.kube.models import Kind, Manifest
from clusters.kube import kinds, objects
from clusters.kube.drift import differences
from clusters.kube.objects import Wanted
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]

LABELS = {"app": "drift"}
CONTAINER = {
    "name": "main",
    "image": "registry.invalid/main:1",
    "args": ["a", "b"],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"containerPort": 80, "name": "http"}],
    "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi", "nvidia.com/gpu": 8}},
    "securityContext": {},
}
SPEC: dict[str, Any] = {
    "replicas": 2,
    "selector": {"matchLabels": LABELS},
    "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}},
}


@pytest.fixture
def hands(kube_server: KubeServer) -> Iterator[Hands]:
    """Somebody else; the Deployment is gone afterwards."""
    one = Hands(kube_server.client)
    yield one
    one.release(wanted(SPEC).ref)


def wanted(spec: dict[str, Any]) -> Wanted:
    """The Deployment."""
    body = objects.manifest(kinds.DEPLOYMENT, "drift", {"spec": spec}, namespace="default")
    return Wanted(kinds.DEPLOYMENT, body)


def applied(server: KubeServer, spec: dict[str, Any]) -> Manifest:
    """As it comes back."""
    return server.client.apply(wanted(spec).manifest, kinds.DEPLOYMENT)


def found(server: KubeServer) -> Manifest:
    """As it is now."""
    one = server.client.get(wanted(SPEC).ref)
    assert one is not None
    return one


def paths(spec: dict[str, Any], seen: Manifest) -> list[str]:
    """Where they differ."""
    return [difference.path for difference in differences(wanted(spec), seen)]


def changed(**container: object) -> dict[str, Any]:
    """The same with another container."""
    spec = copy.deepcopy(SPEC)
    spec["template"]["spec"]["containers"] = [{**CONTAINER, **container}]
    return spec


def test_what_the_server_adds_or_writes_otherwise_is_no_drift(kube_server: KubeServer, hands: Hands) -> None:
    seen = applied(kube_server, SPEC)
    assert seen["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "1"
    assert seen["spec"]["strategy"]["type"] == "RollingUpdate"
    assert paths(SPEC, seen) == []


def test_what_others_add_beside_ours_is_no_drift(kube_server: KubeServer, hands: Hands) -> None:
    applied(kube_server, SPEC)
    sidecar = {"name": "sidecar", "image": "registry.invalid/sidecar:1"}
    containers = [sidecar, found(kube_server)["spec"]["template"]["spec"]["containers"][0]]
    assert hands.patch(wanted(SPEC).ref, {"spec": {"template": {"spec": {"containers": containers}}}})
    assert hands.patch(wanted(SPEC).ref, {"metadata": {"labels": {"theirs": "1"}}})
    assert len(found(kube_server)["spec"]["template"]["spec"]["containers"]) == 2
    assert paths(SPEC, found(kube_server)) == []


def test_what_others_change_is_named_by_its_place(kube_server: KubeServer, hands: Hands) -> None:
    applied(kube_server, SPEC)
    theirs = copy.deepcopy(found(kube_server)["spec"]["template"]["spec"]["containers"])
    theirs[0]["image"] = "registry.invalid/other:1"
    theirs[0]["args"] = ["a"]
    theirs[0]["env"] = [{"name": "B", "value": "3"}]
    assert hands.patch(
        wanted(SPEC).ref, {"spec": {"replicas": 3, "template": {"spec": {"containers": theirs}}}}
    )
    main = "spec.template.spec.containers[name=main]"
    assert paths(SPEC, found(kube_server)) == [
        "spec.replicas",
        f"{main}.image",
        f"{main}.args",
        f"{main}.env[name=A]",
        f"{main}.env[name=B].value",
    ]
    shown = {one.path: (one.wanted, one.found) for one in differences(wanted(SPEC), found(kube_server))}
    assert shown["spec.replicas"] == ("2", "3")
    assert shown[f"{main}.image"] == ("registry.invalid/main:1", "registry.invalid/other:1")
    assert shown[f"{main}.env[name=A]"][1] == "(nothing)"
    assert paths(SPEC, applied(kube_server, SPEC)) == []


def test_what_we_do_not_want_any_more_is_drift_until_applied(kube_server: KubeServer, hands: Hands) -> None:
    seen = applied(kube_server, SPEC)
    main = "spec.template.spec.containers[name=main]"
    fewer = changed(env=[{"name": "A", "value": "1"}], args=["a"])
    del fewer["template"]["spec"]["containers"][0]["ports"]
    assert set(paths(fewer, seen)) == {f"{main}.env[name=B]", f"{main}.args", f"{main}.ports"}
    assert paths(fewer, applied(kube_server, fewer)) == []


def test_no_value_of_a_secret_is_told(kube_server: KubeServer) -> None:
    hands = Hands(kube_server.client)
    one = objects.secret("drift", {"key": b"s3cr3t-one"}, namespace="default")
    seen = kube_server.client.apply(one.manifest, kinds.SECRET)
    assert differences(one, seen) == ()
    other = objects.secret("drift", {"key": b"s3cr3t-two", "more": b"s3cr3t-three"}, namespace="default")
    told = differences(other, seen)
    assert [difference.path for difference in told] == ["data.key", "data.more"]
    for secret in (b"s3cr3t-one", b"s3cr3t-two", b"s3cr3t-three"):
        assert objects.coded(secret) not in repr(told)
    empty = Wanted(kinds.SECRET, {**one.manifest, "data": {}})
    assert "(secret)" in repr(differences(empty, seen))
    assert objects.coded(b"s3cr3t-one") not in repr(differences(empty, seen))
    hands.release(one.ref)


def test_a_secret_within_another_kind_is_hidden_where_it_stands(kube_server: KubeServer) -> None:
    kind = Kind("management.loft.sh/v1", "VirtualClusterInstance", "virtualclusterinstances")
    spec = {"displayName": "a", "parameters": "password: s3cr3t\n"}
    body = objects.manifest(kind, "drift", {"spec": spec}, namespace="default")
    one = Wanted(kind, body, secret=("spec.parameters",))
    seen = kube_server.client.apply(body, kind)
    assert differences(one, seen) == ()
    (told,) = differences(one, {**seen, "spec": {**spec, "parameters": "password: other\n"}})
    assert (told.path, told.wanted, told.found) == ("spec.parameters", "(secret)", "(secret)")
    (told,) = differences(one, {**seen, "spec": {}, "metadata": {}})[1:]
    assert (told.wanted, told.found) == ("(secret)", "(nothing)")
    Hands(kube_server.client).release(one.ref)
