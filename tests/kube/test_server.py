"""The test server is a real one, and knows every vendor's kinds."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.kube import kinds
from clusters.kube.objects import manifest
from tests.kube import crds, platform_crds
from tests.kube.platform_proxy import PlatformProxy
from tests.kube.server import KubeServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
SETS = Kind("slinky.slurm.net/v1beta1", "NodeSet", "nodesets")
INSTANCE = Kind("management.loft.sh/v1", "VirtualClusterInstance", "virtualclusterinstances")


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Poll with a deadline."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_it_serves_every_kind_of_the_vendors(kube_server: KubeServer) -> None:
    names = {found["metadata"]["name"] for found in kube_server.client.list(kinds.CRD)}
    assert len(names) == len(crds.files()) + len(platform_crds.stored())
    assert {"nodesets.slinky.slurm.net", "projects.management.loft.sh", "applications.argoproj.io"} <= names
    assert kube_server.client.version().startswith("v1.")
    assert kube_server.client.serves(SETS)
    assert not kube_server.client.serves(Kind("k8s.netris.ai/v1alpha1", "ServerCluster", "serverclusters"))


def test_absence_is_told_from_everything_else(kube_server: KubeServer) -> None:
    client = kube_server.client
    assert client.get(Ref(SETS, "none", "no-such-namespace")) is None
    nobody = Kind("nobody.example/v1", "Thing", "things")
    assert client.get(Ref(nobody, "a", "default")) is None
    assert client.list(nobody) == ()
    assert client.list(SETS, namespace="no-such-namespace") == ()
    with pytest.raises(errors.ParentMissing):
        client.apply(manifest(nobody, "a", {}, namespace="default"), nobody)
    with pytest.raises(errors.ParentMissing):
        client.apply(manifest(kinds.CONFIG_MAP, "a", {}, namespace="no-such-namespace"), kinds.CONFIG_MAP)


def test_a_misspelt_field_is_refused_and_named(kube_server: KubeServer) -> None:
    good = manifest(SETS, "strict", {"spec": {"controllerRef": {"name": "slurm"}}}, namespace="default")
    made = kube_server.client.apply(good, SETS, dry_run=True)
    assert made["spec"]["controllerRef"] == {"name": "slurm"}
    assert kube_server.client.get(Ref(SETS, "strict", "default")) is None
    bad = {**good, "spec": {"controllerReff": {"name": "slurm"}}}
    with pytest.raises(errors.Invalid) as refused:
        kube_server.client.apply(bad, SETS)
    assert "spec.controllerReff" in refused.value.message


def test_a_list_goes_over_many_pages(kube_server: KubeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusters.clients.kube.client.PAGE", 2)
    mark = {"test": "pages"}
    for number in range(5):
        body = manifest(kinds.CONFIG_MAP, f"page-{number}", {}, namespace="default", labels=mark)
        kube_server.client.apply(body, kinds.CONFIG_MAP)
    found = kube_server.client.list(kinds.CONFIG_MAP, namespace="default", labels=mark)
    assert sorted(one["metadata"]["name"] for one in found) == [f"page-{number}" for number in range(5)]
    assert {one["kind"] for one in found} == {"ConfigMap"}
    for one in found:
        kube_server.client.delete(
            Ref(kinds.CONFIG_MAP, one["metadata"]["name"], "default"), uid=one["metadata"]["uid"]
        )
    assert kube_server.client.list(kinds.CONFIG_MAP, labels=mark) == ()


def test_only_the_object_that_was_looked_at_is_changed_or_removed(kube_server: KubeServer) -> None:
    client, ref = kube_server.client, Ref(kinds.CONFIG_MAP, "mine", "default")
    made = client.apply(
        manifest(kinds.CONFIG_MAP, "mine", {"data": {"a": "1"}}, namespace="default"), ref.kind
    )
    other = {**made["metadata"], "uid": "00000000-0000-0000-0000-000000000000"}
    changed = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "2"}}
    meta = {"name": "mine", "namespace": "default"}
    with pytest.raises(errors.Moved):
        client.apply({**changed, "metadata": {**meta, "uid": other["uid"]}}, ref.kind)
    with pytest.raises(errors.Moved):
        client.delete(ref, uid=other["uid"])
    done = client.apply({**changed, "metadata": {**meta, "uid": made["metadata"]["uid"]}}, ref.kind)
    assert done["data"] == {"a": "2"}
    client.delete(ref, uid=made["metadata"]["uid"])
    client.delete(ref, uid=made["metadata"]["uid"])
    assert client.get(ref) is None
    with pytest.raises(errors.Moved):
        client.apply({**changed, "metadata": {**meta, "uid": made["metadata"]["uid"]}}, ref.kind)


def test_another_manager_is_only_overruled_by_force(kube_server: KubeServer) -> None:
    client, ref = kube_server.client, Ref(kinds.CONFIG_MAP, "shared", "default")
    body = manifest(kinds.CONFIG_MAP, "shared", {"data": {"a": "1"}}, namespace="default")
    client.create(body, ref.kind)
    with pytest.raises(errors.AlreadyExists):
        client.create(body, ref.kind)
    changed = {**body, "data": {"a": "2"}}
    with pytest.raises(errors.Conflict):
        client.apply(changed, ref.kind, force=False)
    assert client.apply(changed, ref.kind)["data"] == {"a": "2"}
    found = client.get(ref)
    assert found is not None
    client.delete(ref, uid=found["metadata"]["uid"])


def test_an_account_may_do_exactly_what_its_rules_say(kube_server: KubeServer) -> None:
    client = KubeClient(kube_server.account("reader"))
    with pytest.raises(errors.Forbidden) as refused:
        client.list(kinds.CONFIG_MAP, namespace="default")
    assert "configmaps" in refused.value.message
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    kube_server.allow("reader", [rule], within="default")
    until(lambda: _may_list(client))
    with pytest.raises(errors.Forbidden):
        client.get(Ref(kinds.CONFIG_MAP, "a", "default"))
    with pytest.raises(errors.Forbidden):
        client.list(kinds.CONFIG_MAP)
    stranger = kube_server.account("reader").__class__(
        kube_server.url, kube_server.authority.certificate, token="made-up"
    )
    with pytest.raises(errors.Unauthorized):
        KubeClient(stranger).version()


def _may_list(client: KubeClient) -> bool:
    try:
        client.list(kinds.CONFIG_MAP, namespace="default")
    except errors.Forbidden:
        return False
    return True


def test_the_server_says_what_can_be_tried_dry(kube_server: KubeServer) -> None:
    until(lambda: KubeClient(kube_server.admin).can_dry_run(SETS), 60)
    assert KubeClient(kube_server.admin).can_dry_run(kinds.CONFIG_MAP)
    assert not KubeClient(kube_server.admin).can_dry_run(Kind("nobody.example/v1", "Thing", "things"))


def test_the_platform_has_its_prefix_and_its_subresources(
    kube_server: KubeServer, platform: PlatformProxy
) -> None:
    access = platform.access(kube_server.account("platform").token)
    client = KubeClient(access)
    every = {"apiGroups": ["management.loft.sh"], "resources": ["virtualclusterinstances"], "verbs": ["*"]}
    kube_server.allow("platform", [every])
    kube_server.ensure_namespace("p-test")
    spec = {"displayName": "acme", "clusterRef": {"cluster": "loft-cluster"}, "parameters": "a: 1\n"}
    body = manifest(INSTANCE, "acme", {"spec": spec}, namespace="p-test")
    until(lambda: _applied(client, body))
    with pytest.raises(errors.Invalid):
        client.apply({**body, "spec": {**spec, "displayname": "x"}}, INSTANCE)
    ref = Ref(INSTANCE, "acme", "p-test")
    asked = {
        "apiVersion": "management.loft.sh/v1",
        "kind": "VirtualClusterInstanceKubeConfig",
        "spec": {"certificateTTL": 3600},
    }
    with pytest.raises(errors.Forbidden):
        client.post(ref, "kubeconfig", asked)
    kube_server.allow(
        "platform",
        [every, {**every, "resources": ["virtualclusterinstances/kubeconfig"], "verbs": ["create"]}],
    )
    until(lambda: _asked(client, ref, asked))
    with pytest.raises(errors.Invalid):
        client.post(ref, "kubeconfig", {**asked, "spec": {"ttl": 1}})
    with pytest.raises(errors.ParentMissing):
        client.post(Ref(INSTANCE, "other", "p-test"), "kubeconfig", asked)


def _applied(client: KubeClient, body: Manifest) -> bool:
    try:
        client.apply(body, INSTANCE)
    except errors.Forbidden:
        return False
    return True


def _asked(client: KubeClient, ref: Ref, body: Manifest) -> bool:
    try:
        return bool(client.post(ref, "kubeconfig", body)["status"] == {"kubeConfig": ""})
    except errors.Forbidden:
        return False
