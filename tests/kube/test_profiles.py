"""One whole order for each kind of site: planned, built, grown, spoilt, mended, removed; nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusters.clients.kube.models import Ref
from clusters.kube import kinds
from clusters.models import Allocation, Machine, MachineState, Phase, Stack, StepState, StepStatus
from clusters.provisioning.registry import FACTORIES
from clusters.services.clusters import mend, terminate_cluster
from tests.builders import actor_for, make_tenant
from tests.cases import case
from tests.clusters.builders import approve, operator, owner_of, resize
from tests.clusters.kube.test_git import Repository
from tests.clusters.netris.server import running
from tests.kube import sites
from tests.kube.platform_proxy import PlatformProxy, no_kubeconfig
from tests.kube.profiles import (
    Profile,
    await_vendors,
    left_over,
    make_site,
    nodes_ready,
    order_at,
    reach,
    see_nothing_left,
)
from tests.kube.server import KubeServer
from tests.kube.tidy import clear_tenant
from tests.kube.vendors import Hands, Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.xdist_group("kube"),
]


@pytest.fixture(params=["platform", "flux", "plain"])
def profile(
    request: pytest.FixtureRequest, kube_server: KubeServer, platform: PlatformProxy, tmp_path: Path
) -> Iterator[Profile]:
    """Each kind of site; the registry of drivers is the same before and after."""
    known = dict(FACTORIES)
    clear_tenant(kube_server)
    if request.param == "platform":
        with running(tmp_path) as netris:
            yield sites.at_platform(kube_server, platform, netris)
        platform.platform.kubeconfig = no_kubeconfig
    else:
        yield (sites.by_flux if request.param == "flux" else sites.plain_by_flux)(kube_server)
    FACTORIES.clear()
    FACTORIES.update(known)
    for name in sites.MACHINES:
        Hands(kube_server.client).release(Ref(kinds.NODE, name))


@case("U38")
def test_a_whole_order(profile: Profile, kube_server: KubeServer) -> None:
    site = make_site(profile, sites.MACHINES)
    tenant = make_tenant()
    nodes_ready(kube_server, sites.MACHINES[:2])
    with Running(kube_server.client, profile.vendors()):
        await_vendors(profile)
        # planned: every step with its objects, and nothing exists
        order = order_at(site, tenant, profile.stack)
        assert order.plan is not None
        planned = {step["name"]: step for step in order.plan["steps"]}
        assert {"control-plane", "access", str(profile.stack)} <= set(planned)
        assert all(step["makes"] for step in planned.values())
        assert all(step["unseen"] == "" for step in planned.values()), planned
        touched = {change["thing"] for step in planned.values() for change in step["changes"]}
        assert len(touched) > 5

        cluster = approve(order).cluster
        assert cluster is not None
        assert left_over(kube_server, cluster) == []
        cluster = reach(cluster, Phase.READY)
        made = left_over(kube_server, cluster)
        listed = {change["thing"] for step in planned.values() for change in step["changes"]}
        listed = {thing for thing in listed if planned_here(thing)}
        assert listed <= set(made), "something was planned and not made"

        # grown
        nodes_ready(kube_server, sites.MACHINES[:3])
        approve(resize(cluster, train=3))
        cluster = reach(cluster, Phase.READY)
        assert Allocation.objects.filter(pool__cluster=cluster, released_at=None).count() == 3
        assert profile.stack != Stack.SLURM or cluster.slurm.url

        # changed by hand: shown with both values, left until an operator says so, then mended
        ref, change, path = profile.spoilt(cluster)
        before = kube_server.client.get(ref)
        assert before is not None
        assert Hands(kube_server.client).patch(ref, change)
        cluster = reach(cluster, Phase.DEGRADED)
        state = StepState.objects.get(cluster=cluster, name="control-plane")
        assert state.status == StepStatus.DRIFTED
        (difference,) = state.differences
        assert (difference["thing"], difference["path"]) == (str(ref), path)
        assert {difference["wanted"], difference["found"]} == {at(before, path), at(change, path)}
        mend(actor=operator(), cluster=cluster)
        cluster = reach(cluster, Phase.READY)
        mended = kube_server.client.get(ref)
        assert at(mended, path) == at(before, path)

        # gone
        owner = actor_for(owner_of(tenant), tenant)
        terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
        cluster = reach(cluster, Phase.DELETED)
        see_nothing_left(kube_server, cluster)
        assert Machine.objects.filter(state=MachineState.FREE).count() == 4
    assert kube_server.client.get(Ref(kinds.NAMESPACE, "freehold")) is None


def test_commits_name_the_order_and_whose_it_was(
    kube_server: KubeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.conf.settings.DATA_FOLDER", tmp_path)
    clear_tenant(kube_server)
    theirs = Repository(tmp_path)
    profile = sites.plain_by_git(kube_server, theirs.bare)
    site = make_site(profile, sites.MACHINES)
    tenant = make_tenant()
    nodes_ready(kube_server, sites.MACHINES[:2])
    with Running(kube_server.client, profile.vendors()):
        order = order_at(site, tenant, profile.stack)
        cluster = approve(order).cluster
        assert cluster is not None
        cluster = reach(cluster, Phase.READY)
        cluster = reach(cluster, Phase.READY)
        owner = actor_for(owner_of(tenant), tenant)
        terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
        cluster = reach(cluster, Phase.DELETED)
        see_nothing_left(kube_server, cluster)
    removed, made, _ = theirs.log()
    assert f"Tenant: {tenant.slug}" in made
    assert f"order {order.pk}, actor {order.created_by}" in made
    assert removed.startswith("Remove control-plane")
    assert set(theirs.files()) == {"README.md"}


def planned_here(thing: str) -> bool:
    """Objects of the API server that bear our mark; machines and the fabric are not made."""
    return thing.partition(" ")[0] not in {"BareMetalHost", "VPC", "server", "ACL"} and "/" in thing


def at(value: Any, path: str) -> Any:
    """What stands at a path."""
    for name in path.split("."):
        value = value[name]
    return value
