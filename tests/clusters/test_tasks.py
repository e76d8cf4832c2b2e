"""What the beat scan finds due, and hints that nobody takes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
import time_machine
from celery import current_app
from django.test import TestCase
from kombu.exceptions import OperationalError

from clusters import hints, tasks
from clusters.models import Cluster, Order, Phase
from clusters.provisioning import engine
from clusters.provisioning.lease import claim
from portal.lib import clock
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster, make_order, make_site
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Task, key and queue of every hint; the broker is the seam."""
    seen: list[tuple[str, str, str]] = []

    def send_task(name: str, args: list[str], queue: str, **options: Any) -> None:
        assert options["retry"] is False
        seen.append((name, args[0], queue))

    monkeypatch.setattr(current_app, "send_task", send_task)
    return seen


def test_due_clusters_go_to_the_queue_of_their_site(world: World, sent: list[tuple[str, str, str]]) -> None:
    tenant, site = make_tenant(), make_site(machines=10)
    clusters = {
        name: make_cluster(tenant, site, name=name, nodes=1)
        for name in ("due", "leased", "paused", "failed", "later", "stalled")
    }
    claim(clusters["leased"].pk)
    now = clock.now()
    changes: dict[str, dict[str, Any]] = {
        "paused": {"paused": True},
        "failed": {"phase": Phase.FAILED},
        "later": {"next_reconcile_at": now + dt.timedelta(minutes=1)},
        "stalled": {"next_reconcile_at": None},
    }
    for name, columns in changes.items():
        Cluster.objects.filter(pk=clusters[name].pk).update(**columns)
    tasks.reconcile_due()
    assert sent == [("clusters.reconcile", str(clusters["due"].pk), "tests")]
    sent.clear()
    with time_machine.travel(now + dt.timedelta(minutes=2)):
        tasks.reconcile_due()  # a lease ends by itself
    names = {name for name, row in clusters.items() if str(row.pk) in {key for _, key, _ in sent}}
    assert names == {"due", "leased", "later"}


def test_a_task_is_harmless_twice_and_for_what_is_gone(world: World) -> None:
    cluster = make_cluster(make_tenant(), make_site())
    for _ in range(3):
        tasks.reconcile(str(cluster.pk))
    assert Cluster.objects.get(pk=cluster.pk).phase == Phase.READY
    gone = "00000000-0000-0000-0000-000000000000"
    tasks.reconcile(gone)
    tasks.make_plan(gone)
    assert len(world.calls("created")) == 5


def test_plans_are_made_again_while_an_order_waits(world: World, sent: list[tuple[str, str, str]]) -> None:
    order = make_order(make_tenant(), make_site(), planned=False)
    wanted = ("clusters.make_plan", str(order.pk), "tests")
    tasks.reconcile_due()
    assert sent == [wanted]
    tasks.make_plan(str(order.pk))
    sent.clear()
    tasks.reconcile_due()
    assert sent == []
    with time_machine.travel(clock.now() + dt.timedelta(seconds=61)):
        tasks.reconcile_due()
        assert sent == [wanted]
    before = Order.objects.get(pk=order.pk).plan_hash
    tasks.make_plan(str(order.pk))
    assert Order.objects.get(pk=order.pk).plan_hash == before  # the same world, the same plan


def test_a_dead_broker_fails_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def dead(*_: object, **__: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(current_app, "send_task", dead)
    with TestCase.captureOnCommitCallbacks(execute=True) as callbacks:
        order = make_order(make_tenant(), make_site(), planned=False)
    assert callbacks
    assert Order.objects.filter(pk=order.pk).exists()
    hints.send("clusters.reconcile", key="x", queue="tests")


def test_an_approval_hints_at_once(world: World, sent: list[tuple[str, str, str]]) -> None:
    with TestCase.captureOnCommitCallbacks(execute=True):
        cluster = make_cluster(make_tenant(), make_site())
    assert ("clusters.reconcile", str(cluster.pk), "tests") in sent
    engine.reconcile(cluster.pk)
