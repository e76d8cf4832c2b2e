"""A worker killed at any outside call of a Kubernetes site: the next one finds what it left, and ends it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.clients.kube.models import Ref
from clusters.kube import kinds, objects
from clusters.models import Cluster, Order, OrderState, Phase, Site
from clusters.provisioning.registry import FACTORIES
from clusters.services.clusters import terminate_cluster
from tenants.models import Tenant
from tests.builders import actor_for, make_tenant
from tests.cases import case
from tests.clusters.builders import approve, owner_of
from tests.clusters.netris.server import running
from tests.kube import sites
from tests.kube.mortal import Mortal
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
from tests.kube.vendors import Running

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("kube")]
MOST = 200
KILLS = 50


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch) -> Mortal:
    """The worker of this test."""
    one = Mortal()
    one.install(monkeypatch)
    return one


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """The registry of drivers is the same before and after."""
    known = dict(FACTORIES)
    yield
    FACTORIES.clear()
    FACTORIES.update(known)


class Story:
    """Clusters of one site, one after the other, each built and removed by a worker that dies."""

    def __init__(self, server: KubeServer, profile: Profile, mortal: Mortal) -> None:
        clear_tenant(server)
        nodes_ready(server, sites.MACHINES[:2])
        self.server, self.profile, self.mortal = server, profile, mortal
        self.site: Site = make_site(profile, sites.MACHINES)
        self.tenant: Tenant = make_tenant()

    def begin(self) -> Cluster:
        """An approved order."""
        await_vendors(self.profile)
        order = order_at(self.site, self.tenant, self.profile.stack)
        cluster = approve(order).cluster
        assert cluster is not None
        return cluster

    def built(self, cluster: Cluster) -> list[str]:
        """Ready; everything that bears the mark, whatever the cluster's name."""
        cluster = reach(cluster, Phase.READY, reconcile=self.mortal.reconcile)
        order = Order.objects.get(cluster=cluster, kind="create")
        assert order.state == OrderState.FULFILLED
        found = left_over(self.server, cluster)
        return sorted(thing.replace(cluster.external_name, "CLUSTER") for thing in found)

    def ended(self, cluster: Cluster) -> None:
        """Removed, with nothing left."""
        owner = actor_for(owner_of(self.tenant), self.tenant)
        terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
        cluster = reach(cluster, Phase.DELETED, reconcile=self.mortal.reconcile)
        see_nothing_left(self.server, cluster)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@case("U38")
@pytest.mark.parametrize(("after", "every"), [(False, 3), (True, 1)], ids=["before", "after"])
def test_a_worker_killed_at_each_change_ends_with_one_of_everything(
    kube_server: KubeServer, mortal: Mortal, after: bool, every: int
) -> None:
    # outside, death before a change is death after the one before it: of those some are enough
    profile = sites.plain_by_flux(kube_server)
    mortal.changes_only = True
    with Running(kube_server.client, profile.vendors()):
        story = Story(kube_server, profile, mortal)
        first = story.begin()
        whole = story.built(first)
        story.ended(first)
        assert len(whole) > 6
        for point in range(1, MOST, every):
            before = mortal.deaths
            cluster = story.begin()
            mortal.doom(point, after=after)
            assert story.built(cluster) == whole, mortal.said
            mortal.doom(point, after=after)
            story.ended(cluster)
            if mortal.deaths == before:
                break
        assert mortal.deaths > len(whole) // every, mortal.said


@pytest.mark.slow
def test_a_worker_that_dies_in_every_pass_gets_there_all_the_same(
    kube_server: KubeServer, mortal: Mortal
) -> None:
    profile = sites.plain_by_flux(kube_server)
    with Running(kube_server.client, profile.vendors()):
        story = Story(kube_server, profile, mortal)
        cluster = story.begin()
        calls = iter(range(1, MOST))

        def reconcile(cluster_id: object) -> None:
            # each worker gets one call further than the one before it
            mortal.doom(next(calls), after=bool(mortal.deaths % 2))
            mortal.reconcile(cluster_id)

        cluster = reach(cluster, Phase.READY, reconcile=reconcile)
        assert mortal.deaths > 10
        assert {said.partition(" ")[0] for said in mortal.said} >= {"GET", "PATCH"}
        mortal.at = 0
        story.ended(cluster)


@pytest.mark.slow
def test_a_namesake_is_never_touched_by_a_worker_that_dies(kube_server: KubeServer, mortal: Mortal) -> None:
    profile = sites.plain_by_flux(kube_server)
    with Running(kube_server.client, profile.vendors()):
        story = Story(kube_server, profile, mortal)
        cluster = story.begin()
        name = f"vc-{cluster.external_name}"
        theirs = objects.manifest(kinds.NAMESPACE, name, {}, labels={"owner": "somebody-else"})
        kube_server.client.apply(theirs, kinds.NAMESPACE)
        before = kube_server.client.get(Ref(kinds.NAMESPACE, name))
        for point in range(1, 20):  # every outside call of a pass that finds the namesake
            mortal.doom(point, after=bool(point % 2))
            mortal.reconcile(cluster.pk)
            if mortal.deaths < point:
                break
        assert 5 < mortal.deaths < 19
        mortal.at = 0
        mortal.reconcile(cluster.pk)
        assert kube_server.client.get(Ref(kinds.NAMESPACE, name)) == before
        state = cluster.steps.get(name="control-plane")
        assert state.reason == "NameTaken"
        see_nothing_left(kube_server, cluster)
        kube_server.client.delete(Ref(kinds.NAMESPACE, name), uid=before["metadata"]["uid"])  # type: ignore[index]


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_random_kills_over_the_whole_platform(
    kube_server: KubeServer, platform: PlatformProxy, mortal: Mortal, tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    dice = random.Random(seed)  # no secret
    with running(tmp_path) as netris:
        profile = sites.at_platform(kube_server, platform, netris, pace=0.02)
        try:
            with Running(kube_server.client, profile.vendors()):
                story = Story(kube_server, profile, mortal)
                first = story.begin()
                whole = story.built(first)
                story.ended(first)

                def reconcile(cluster_id: object) -> None:
                    mortal.doom(dice.randrange(1, 40), after=dice.random() < 0.5)
                    Mortal.reconcile(mortal, cluster_id)

                while mortal.deaths < KILLS:
                    cluster = story.begin()
                    cluster = reach(cluster, Phase.READY, reconcile=reconcile)
                    mortal.at = 0
                    assert story.built(cluster) == whole, (seed, mortal.said)
                    assert len(netris.controller.clusters) == 1, seed
                    story.ended(cluster)
                    assert netris.controller.clusters == [], seed
        finally:
            platform.platform.kubeconfig = no_kubeconfig
