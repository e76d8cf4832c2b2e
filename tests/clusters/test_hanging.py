"""A removal that something outside holds: who sees what of it, and that others go on."""

from __future__ import annotations

import datetime as dt

import pytest
import time_machine
from django.test import Client
from django.utils import translation

from clusters.hanging import advice
from clusters.models import Cluster, Phase, StepState, StepStatus
from clusters.provisioning import engine
from clusters.services.clusters import terminate_cluster
from portal.lib import clock
from tenants.models import Tenant
from tests.builders import actor_for, make_tenant, sign_in
from tests.clusters.builders import make_cluster, make_site, operator, owner_of
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db


def ready(tenant: Tenant, name: str = "gpu-a") -> Cluster:
    cluster = make_cluster(tenant, name=name, nodes=1)
    return look(cluster)


def look(cluster: Cluster, passes: int = 1) -> Cluster:
    for _ in range(passes):
        engine.reconcile(cluster.pk)
    return Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)


def end(cluster: Cluster) -> None:
    actor = actor_for(owner_of(cluster.tenant), cluster.tenant)
    terminate_cluster(actor=actor, cluster=cluster, typed_name=cluster.name, at_once=True)


def operators_page(client: Client, cluster: Cluster) -> str:
    actor = operator()
    assert actor.user is not None
    page = f"/operations/clusters/cluster/{cluster.pk}/change/"
    return sign_in(client, actor.user).get(page).content.decode()


def test_a_hanging_removal_delays_no_other_tenants(world: World) -> None:
    make_site()
    first, second = ready(make_tenant("Aurora")), ready(make_tenant("Boreas"))
    world.set("fabric", held=[first.external_name])
    end(first)
    end(second)
    assert look(first, 2).phase == Phase.DELETING
    assert look(second).phase == Phase.DELETED
    third = ready(make_tenant("Cirrus"))
    assert third.phase == Phase.READY
    # it hangs on, with its reason, and neither waits nor sleeps in the worker
    state = StepState.objects.get(cluster=first, name="fabric")
    assert (state.status, state.reason) == (StepStatus.REMOVING, "Finalizer")
    assert not StepState.objects.filter(cluster=first, name="machines", status=StepStatus.GONE).exists()
    world.set("fabric")
    assert look(first).phase == Phase.DELETED


def test_the_operator_sees_what_hangs_since_when_and_what_can_be_done(client: Client, world: World) -> None:
    make_site()
    cluster = ready(make_tenant("Aurora"))
    assert "What hangs" not in operators_page(client, cluster)
    world.set("fabric", held=[cluster.external_name])
    begun = clock.now()
    with time_machine.travel(begun, tick=False):
        end(cluster)
        look(cluster)
    with time_machine.travel(begun + dt.timedelta(minutes=5), tick=False):
        cluster = look(cluster)
    assert StepState.objects.get(cluster=cluster, name="fabric").status == StepStatus.STALLED
    text = operators_page(client, cluster)
    for part in (
        "What hangs",
        "is held by metal3.io/host, vendor.example/hook for 12 min.",
        "Do not take this finalizer off",
        "the controller that owns the finalizer",
        f'datetime="{begun:%Y-%m-%dT%H:%M:%S}',
    ):
        assert part in text


def test_the_tenant_reads_whom_the_removal_waits_for_and_no_names(client: Client, world: World) -> None:
    make_site()
    tenant = make_tenant("Aurora")
    cluster = ready(tenant)
    world.set("fabric", held=[cluster.external_name])
    end(cluster)
    look(cluster, 2)
    browser = sign_in(client, owner_of(tenant))
    for tab in ("", "steps/", "events/"):
        text = browser.get(f"/t/{tenant.slug}/clusters/{cluster.pk}/{tab}").content.decode()
        assert "Something outside still holds an object that is to go." in text
        assert "metal3.io" not in text
    overview = browser.get(f"/t/{tenant.slug}/clusters/{cluster.pk}/").content.decode()
    assert "Waits for Fake." in overview
    assert "Remove: Separate the network, by Fake." in overview


def test_advice_fits_the_finalizer() -> None:
    with translation.override("en"):
        (argo,) = advice("Application argocd/x is held by resources-finalizer.argocd.argoproj.io for 3 h.")
        assert "Argo CD" in argo
        (unknown,) = advice("Thing x is held by vendor.example/hook, vendor.example/two for 3 h.")
        assert "the controller that owns the finalizer" in unknown
        (none,) = advice("It is being removed.")
        assert "outside system" in none
