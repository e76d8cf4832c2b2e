"""Local control planes: real etcd, kube-apiserver and kube-controller-manager, one set for each tenant."""

from __future__ import annotations

import dataclasses
import json
import stat
import time
from collections.abc import Iterator

import pytest

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Ref
from clusters.drivers.local import daemons, plane_access, planes, teardown
from clusters.drivers.local.nodes import NODES, SIMULATED
from clusters.drivers.local.planes import SERVER
from clusters.kube import tenant
from clusters.provisioning.steps import StepContext
from portal.lib import processes
from portal.lib.errors import PermanentError
from tests.clusters.drivers import kube_subjects
from tests.clusters.drivers.kube_subjects import CONCERNS, linked, plane_of
from tests.clusters.drivers.lab import CPU, GPU, Lab, make_spec, open_lab, until
from tests.contract.driver_contract import DriverContract, Subject, drive_away, settle

SERVICE_ACCOUNTS = Kind("v1", "ServiceAccount", "serviceaccounts")
START_SECONDS = 60.0  # four on a machine that does nothing else


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A lab of machines, fabric and control planes, without the programs."""
    opened = open_lab(concerns=CONCERNS)
    yield opened
    opened.close()
    assert not planes.search(
        {
            str(planes.of(opened.settings.data, one.spec).root): one.spec.gid
            for one in opened.contexts.values()
        }
    )


@pytest.fixture(scope="module")
def up() -> Iterator[tuple[Lab, StepContext]]:
    """A lab with one control plane, for tests that leave it running. Nodes come and go."""
    opened = open_lab(concerns=CONCERNS)
    ctx = linked(opened).prepare(opened.cluster(), until="nodes")
    yield opened, ctx
    opened.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("control-plane")
class TestControlPlane(DriverContract):
    """control-plane"""

    # files are written up to 17, then programs started, then rights granted
    points = (1, 2, 7, 17, 20, 21, 22, 23, 24, 26, 40)

    @pytest.fixture
    def subject(self, lab: Lab) -> Subject:
        """A cluster with machines and no control plane."""
        return kube_subjects.ControlPlaneSubject(linked(lab))


@pytest.mark.slow
class TestNodes(DriverContract):
    """nodes"""

    @pytest.fixture
    def subject(self, up: tuple[Lab, StepContext]) -> Subject:
        """A cluster with a control plane and no nodes."""
        return kube_subjects.NodesSubject(*up)


@pytest.mark.slow
def test_it_starts_soon_and_lists_exactly_the_machines(lab: Lab) -> None:
    pools = tuple(
        dataclasses.replace(make_spec().pools[0], name=name, flavor=flavor, machines=machines)
        for name, flavor, machines in (("train", GPU, ("gpu-1", "gpu-2")), ("prep", CPU, ("cpu-1",)))
    )
    ctx = linked(lab).prepare(lab.cluster(pools=pools), until="control-plane")
    began = time.monotonic()
    settle(lab.site["control-plane"], ctx)
    assert time.monotonic() - began < START_SECONDS
    settle(lab.site["nodes"], ctx)
    nodes = {node["metadata"]["name"]: node for node in plane_access.portal_client(ctx).list(NODES)}
    assert set(nodes) == {"gpu-1", "gpu-2", "cpu-1"}
    assert nodes["gpu-1"]["status"]["allocatable"]["nvidia.com/gpu"] == "2"
    assert "nvidia.com/gpu" not in nodes["cpu-1"]["status"]["capacity"]
    assert {node["metadata"]["labels"][SIMULATED] for node in nodes.values()} == {"true"}
    assert not any(node["spec"].get("taints") for node in nodes.values())


@pytest.mark.slow
def test_tenants_are_apart_and_keys_are_their_own(up: tuple[Lab, StepContext]) -> None:
    lab, one = up
    other = lab.prepare(lab.cluster(), until="nodes")
    mine, theirs = (tenant.access_of(ctx.secrets) for ctx in (one, other))
    crossed = dataclasses.replace(theirs, certificate_pem=mine.certificate_pem, key_pem=mine.key_pem)
    assert KubeClient(theirs).version()
    with pytest.raises(errors.Unauthorized):
        KubeClient(crossed).version()
    with pytest.raises(errors.Unauthorized):
        KubeClient(dataclasses.replace(theirs, certificate_pem=b"", key_pem=b"")).version()
    for ctx in (one, other):
        assert _readable_by_others(lab, ctx) == []
        uids = {processes.real_ids(found.record.pid) for found in _running(lab, ctx).values()}
        assert uids == {(ctx.spec.gid, planes.GID)}


@pytest.mark.slow
def test_the_portal_may_do_what_it_needs_and_no_more(up: tuple[Lab, StepContext]) -> None:
    _, ctx = up
    client = plane_access.portal_client(ctx)
    secrets = Kind("v1", "Secret", "secrets")
    assert client.list(secrets, namespace=plane_access.NAMESPACE) == ()
    for kind, namespace in ((secrets, "kube-system"), (Kind("v1", "Pod", "pods"), "default")):
        with pytest.raises(errors.Forbidden):
            client.list(kind, namespace=namespace)
    with pytest.raises(errors.Forbidden):
        client.get(Ref(plane_access.CLUSTER_ROLES, "cluster-admin"))


@pytest.mark.slow
def test_the_controllers_work(up: tuple[Lab, StepContext]) -> None:
    _, ctx = up
    client = plane_access.portal_client(ctx)
    until(
        lambda: "default" in {one["metadata"]["name"] for one in client.list(SERVICE_ACCOUNTS)},
        what="a namespace got its default service account",
    )


@pytest.mark.slow
def test_rights_that_the_tenant_removed_come_back(up: tuple[Lab, StepContext]) -> None:
    lab, ctx = up
    client = plane_access.portal_client(ctx)
    binding = client.get(Ref(plane_access.CLUSTER_BINDINGS, plane_access.PORTAL))
    assert binding is not None
    client.delete(Ref(plane_access.CLUSTER_BINDINGS, plane_access.PORTAL), uid=binding["metadata"]["uid"])
    step = lab.site["control-plane"]
    until(lambda: step.observe(ctx).reason == "AccessNotGranted", what="the loss is seen")
    settle(step, ctx)


@pytest.mark.slow
def test_stopping_everything_keeps_data_and_ends_processes(lab: Lab) -> None:
    ctx = linked(lab).prepare(lab.cluster(), until="nodes")
    settle(lab.site["nodes"], ctx)
    before = plane_access.portal_client(ctx).list(NODES)
    assert teardown.stop_all(lab.settings.data) == len(planes.ROLES)
    assert not daemons.listens(ctx.ports[SERVER])
    settle(lab.site["control-plane"], ctx)
    assert plane_access.portal_client(ctx).list(NODES) == before


@pytest.mark.slow
def test_nodes_go_also_when_the_control_plane_is_down(lab: Lab) -> None:
    ctx = linked(lab).prepare(lab.cluster(), until="nodes")
    settle(lab.site["nodes"], ctx)
    teardown.stop_all(lab.settings.data)
    drive_away(lab.site["nodes"], ctx)
    drive_away(lab.site["control-plane"], ctx)
    assert not plane_of(lab, ctx).root.exists()


def test_without_the_programs_it_says_what_to_install(lab: Lab) -> None:
    ctx = lab.prepare(lab.cluster(), until="control-plane")
    step = lab.site["control-plane"]
    assert step.observe(ctx).exists is False
    with pytest.raises(PermanentError) as refused:
        step.apply(ctx)
    assert refused.value.reason == "KubeAssetsMissing"
    assert "Install Go" in refused.value.hint
    assert not plane_of(lab, ctx).root.exists()


def test_while_they_are_built_it_waits_without_a_deadline(lab: Lab) -> None:
    ctx = lab.prepare(lab.cluster(), until="control-plane")
    lab.settings.programs.mkdir()
    note = {"state": "building", "text": "", "since": int(time.time()) - 130}
    (lab.settings.programs / "state.json").write_text(json.dumps(note))
    step = lab.site["control-plane"]
    step.apply(ctx)
    seen = step.observe(ctx)
    assert (seen.exists, seen.reason, seen.waits_for) == (
        False,
        "KubeAssetsMissing",
        "the Kubernetes programs",
    )
    assert "2 min" in seen.message


def _running(lab: Lab, ctx: StepContext) -> dict[str, planes.Found]:
    return planes.find(plane_of(lab, ctx).root, ctx.spec.gid)


def _readable_by_others(lab: Lab, ctx: StepContext) -> list[str]:
    """Keys that anyone but their owner may read, and folders of data that others may enter."""
    plane = plane_of(lab, ctx)
    keys = [path for path in plane.root.rglob("*.key") if path.stat().st_mode & 0o077]
    doors = [path for path in (plane.store, plane.log, plane.authority_keys) if _is_open(path.stat().st_mode)]
    return [str(path) for path in (*keys, *doors)]


def _is_open(mode: int) -> bool:
    return bool(mode & (stat.S_IRWXG | stat.S_IRWXO))
