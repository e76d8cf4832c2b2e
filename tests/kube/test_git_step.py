"""A step whose objects leave as commits: committed, taken by a controller, working, pruned."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from clusters.clients.kube.models import Kind
from clusters.kube import kinds, objects
from clusters.kube.git import Branch
from clusters.kube.git_sink import GitCommit
from clusters.kube.objects import Wanted
from clusters.kube.sinks import Scope, Sink
from clusters.kube.step import ObjectsStep
from clusters.provisioning.steps import ClusterSpec, StepContext
from tests.clusters.kube.test_git import Repository
from tests.contract.driver_contract import drive_away, settle
from tests.contract.kube.driven import spec_of
from tests.kube.gitops import Follower
from tests.kube.server import KubeServer
from tests.kube.values import check_vcluster_values
from tests.kube.vendor_kinds import volcano_queues
from tests.kube.vendors import Running

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
QUEUE = Kind("scheduling.volcano.sh/v1beta1", "Queue", "queues", namespaced=False)


class QueueStep(ObjectsStep):
    """A ConfigMap and a Queue for each pool, committed."""

    name = "queues"
    component = "Volcano"
    branch: Branch

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        return tuple(pool.name for pool in spec.pools)

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return (Scope(kinds.CONFIG_MAP, "default"), Scope(QUEUE))

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        spec = {"spec": {"weight": len(ctx.spec.pools[0].machines)}}
        queue = objects.manifest(QUEUE, ctx.spec.name, spec)
        note = objects.config_map(ctx.spec.name, {"tenant": ctx.spec.tenant}, namespace="default")
        state = objects.Readiness
        return (
            note,
            Wanted(
                QUEUE,
                queue,
                lambda found: state((found.get("status") or {}).get("state") == "Open", "NotOpen"),
            ),
        )

    def sink(self, ctx: StepContext) -> Sink:
        """See ObjectsStep."""
        del ctx
        return GitCommit(self.branch, "clusters")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With a file of somebody else's."""
    return Repository(tmp_path)


@pytest.fixture
def follower(repository: Repository, kube_server: KubeServer) -> Iterator[Follower]:
    """A controller at work."""
    one = Follower(repository.bare, [kinds.CONFIG_MAP, QUEUE])
    with Running(kube_server.client, [one, volcano_queues()]):
        yield one


def test_committed_is_not_there_and_there_is_not_working(
    repository: Repository, follower: Follower, kube_server: KubeServer
) -> None:
    step = QueueStep(lambda _: kube_server.client)
    step.branch = Branch(str(repository.bare), "main", repository.cache)
    ctx = StepContext(spec=spec_of(uuid.uuid4()), facts={"order": {"order": "7", "actor": "Ada"}})
    follower.paused = True
    assert [change.action for change in step.preview(ctx)] == ["create", "create"]
    assert step.observe(ctx).exists is False
    step.apply(ctx)
    seen = step.observe(ctx)
    assert (seen.exists, seen.in_sync, seen.ready, seen.reason) == (True, True, False, "NotTakenYet")
    assert "order 7, actor Ada" in repository.log()[0]
    follower.paused = False
    settle(step, ctx)
    pool = ctx.spec.pools[0]
    more = dataclasses.replace(pool, machines=(*pool.machines, "another"))
    grown = dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=(more,)))
    seen = step.observe(grown)
    assert (seen.in_sync, seen.reason) == (False, "Drift")
    settle(step, grown)
    queue = kube_server.client.get(step.wanted(grown)[1].ref)
    assert queue is not None
    assert queue["spec"]["weight"] == 3
    follower.paused = True
    step.remove(grown)
    assert step.observe(grown).exists is True
    follower.paused = False
    drive_away(step, grown)
    assert kube_server.client.get(step.wanted(grown)[1].ref) is None
    assert set(repository.files()) == {"README.md"}


def test_values_of_the_vcluster_chart_are_checked_by_its_own_schema() -> None:
    good = "privateNodes:\n  enabled: true\n  vpn:\n    enabled: true\n"
    assert check_vcluster_values(good)["privateNodes"]["enabled"] is True
    with pytest.raises(jsonschema.ValidationError):
        check_vcluster_values(good.replace("vpn", "vpnn"))
