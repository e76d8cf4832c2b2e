"""A site where the Platform picks machines, through the whole engine: stock, promise, rows, and back."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from clusters.clients.kube.models import Ref
from clusters.drivers.vcluster_nodes.claims import NODE_TYPE
from clusters.models import (
    Allocation,
    Cluster,
    Machine,
    MachineState,
    Offering,
    Order,
    Phase,
    Site,
    SiteStock,
    StepState,
)
from clusters.provisioning import site_facts
from clusters.provisioning.plan import make_plan
from clusters.provisioning.registry import FACTORIES
from clusters.services.capacity import Capacity, capacity, held_nodes
from clusters.services.clusters import terminate_cluster
from clusters.services.plans import PlanChanged
from portal.lib.errors import BadInput
from tenants.models import Tenant
from tests.builders import actor_for, make_tenant, sign_in
from tests.cases import case
from tests.clusters.builders import approve, operator, owner_of, resize
from tests.clusters.test_order_form import sent
from tests.kube import picking
from tests.kube.picking import AutoNodes
from tests.kube.platform_proxy import PlatformProxy, no_kubeconfig
from tests.kube.profiles import make_site, order_at, reach, see_nothing_left
from tests.kube.server import KubeServer
from tests.kube.tidy import clear_tenant
from tests.kube.vendors import Hands, Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.xdist_group("kube"),
]


@pytest.fixture
def nodes(kube_server: KubeServer, platform: PlatformProxy) -> Iterator[AutoNodes]:
    """Four machines of one type; the registry of drivers is the same before and after."""
    known = dict(FACTORIES)
    clear_tenant(kube_server)
    one = AutoNodes(f"dc1-metal.a100-{secrets.token_hex(3)}", 4)
    yield one
    platform.platform.kubeconfig = no_kubeconfig
    FACTORIES.clear()
    FACTORIES.update(known)
    Hands(kube_server.client).release(Ref(NODE_TYPE, one.kind))


def free_at(site: Site) -> Capacity:
    """What can be ordered there."""
    (found,) = capacity([site]).values()
    return found


def planned(order: Order) -> Order:
    """With a plan of now."""
    make_plan(str(order.pk))
    order.refresh_from_db()
    return order


def rows(cluster: Cluster) -> list[str]:
    """Names of the machines that the cluster holds by the books."""
    live = Allocation.objects.filter(pool__cluster=cluster, released_at=None)
    return sorted(live.values_list("machine__name", flat=True))


@case("U38")
def test_a_whole_order(kube_server: KubeServer, platform: PlatformProxy, nodes: AutoNodes) -> None:
    profile = picking.at_platform(kube_server, platform, nodes)
    site, tenant = make_site(profile, ()), make_tenant()
    assert (free_at(site).total, free_at(site).free) == (4, 4)
    assert not Machine.objects.exists()
    page = ordering(tenant, site)
    assert "4 of 4 nodes free now" in page
    assert "as the site told 0" in page
    with Running(kube_server.client, profile.vendors()):
        order = order_at(site, tenant, profile.stack)
        assert order.plan is not None
        assert [(pool["machines"], pool["count"]) for pool in order.plan["pools"]] == [([], 2)]
        rival = order_at(site, make_tenant("Boreas"), profile.stack, name="gpu-b", nodes=3)
        assert rival.plan_hash
        cluster = approve(order).cluster
        assert cluster is not None
        # promised, though nothing is claimed yet; and nobody else is promised the same
        assert (free_at(site).free, held_nodes(tenant)) == (2, {Offering.objects.get().flavor_id: 2})
        with pytest.raises(PlanChanged):
            approve(rival)
        assert planned(rival).plan["error"]["reason"] == "NoCapacity"  # type: ignore[index]

        cluster = reach(cluster, Phase.READY)
        held = nodes.held[f"p-{cluster.external_name}"]
        assert rows(cluster) == sorted(ref.name for ref in held)
        assert set(Machine.objects.values_list("state", flat=True)) == {MachineState.IN_USE}
        assert free_at(site).free == 2  # of an old look: what is claimed since is counted once
        site_facts.learn(str(site.pk))
        assert (free_at(site).free, free_at(site).in_use) == (2, 2)
        shown = StepState.objects.get(cluster=cluster, name="isolation").facts
        assert shown["ports"].startswith("not checked, because this site has no network controller")

        with pytest.raises(BadInput) as refused:
            resize(cluster, train=1)
        assert "can only be added" in str(refused.value.fields)
        approve(resize(cluster, train=3))
        cluster = reach(cluster, Phase.READY)
        assert len(rows(cluster)) == 3

        owner = actor_for(owner_of(tenant), tenant)
        terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
        cluster = reach(cluster, Phase.DELETED)
        see_nothing_left(kube_server, cluster)
        assert rows(cluster) == []
        assert not Machine.objects.exclude(state=MachineState.FREE, wiped_at__isnull=False).exists()
        site_facts.learn(str(site.pk))
        assert free_at(site).free == 4
        assert planned(rival).plan_hash


def test_a_platform_that_does_not_answer_leaves_what_was_seen(
    kube_server: KubeServer, platform: PlatformProxy, nodes: AutoNodes
) -> None:
    site = make_site(picking.at_platform(kube_server, platform, nodes), ())
    before = SiteStock.objects.get()
    Site.objects.filter(pk=site.pk).update(
        settings={**site.settings, "platform": {**site.settings["platform"], "server": "https://127.0.0.1:9"}}
    )
    site_facts.learn(str(site.pk))
    assert SiteStock.objects.get().seen_at == before.seen_at
    who = operator().user
    assert who is not None
    page = sign_in(Client(), who).get(reverse("admin:clusters_site_change", args=[site.pk]))
    assert "its stock was read" in page.content.decode()
    Site.objects.filter(pk=site.pk).update(drivers={**site.drivers, "machines": "metal3", "nodes": ""})
    site_facts.learn(str(site.pk))
    assert not SiteStock.objects.exists()


def ordering(tenant: Tenant, site: Site) -> str:
    """What the order form says of two nodes."""
    browser = sign_in(Client(), owner_of(tenant))
    return browser.get(f"/t/{tenant.slug}/orders/summary/", sent(site)).content.decode()
