"""The demo's catalogue."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from clusters import demo
from clusters.models import Cluster, Flavor, Machine, Offering, Site, StepState, StepStatus
from portal.lib import clock
from portal.lib.errors import PermanentError
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster, make_site
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db


def test_it_can_be_loaded_twice() -> None:
    demo.load()
    demo.load()
    assert Site.objects.get().drivers["machines"] == "local"
    assert (Flavor.objects.count(), Offering.objects.count(), Machine.objects.count()) == (3, 3, 30)


def test_a_demo_of_an_older_release_gets_its_new_drivers_and_clusters_their_steps() -> None:
    demo.load()
    older = {name: driver for name, driver in demo.DRIVERS.items() if name != "accounting"}
    Site.objects.update(drivers=older | {"fabric": ""})
    cluster = make_cluster(make_tenant(), Site.objects.get())
    demo.load()
    assert Site.objects.get().drivers == demo.DRIVERS | {"fabric": ""}  # what was taken out stays out
    woken = Cluster.objects.get()
    assert (woken.generation, woken.wake) == (cluster.generation + 1, cluster.wake + 1)
    demo.load()
    assert Cluster.objects.get().wake == woken.wake


def test_a_new_start_looks_again_for_programs_that_were_missing(world: World) -> None:
    stalled, other = (make_cluster(make_tenant(name), make_site(name)) for name in ("Aurora", "Boreas"))
    for cluster, reason in ((stalled, "KubeAssetsMissing"), (other, "NameTaken")):
        StepState.objects.create(
            cluster=cluster,
            name="control-plane",
            position=9,
            component="Kubernetes",
            status=StepStatus.STALLED,
            reason=reason,
            since=clock.now(),
        )
    demo.load()
    states = dict(StepState.objects.values_list("cluster", "status"))
    assert states == {stalled.pk: StepStatus.PROGRESSING, other.pk: StepStatus.STALLED}


def test_it_refuses_in_production(settings: LazySettings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(PermanentError):
        demo.load()
    assert not Site.objects.exists()
