"""Celery tasks: ids only, lost or doubled delivery is harmless, the database knows what is due."""

from __future__ import annotations

import contextlib
import datetime as dt

from celery import shared_task
from django.db.models import Q

from clusters import hints
from clusters.models import Cluster, Order, OrderState, Phase, Site
from clusters.picking import THEY_PICK
from clusters.provisioning import engine, plan, site_facts
from clusters.services import kubeconfigs, utilisation, workloads
from clusters.services.clusters import begin_due_removal
from portal.lib import clock
from portal.lib.errors import OutsideError, WrongState
from tenants.actor import SYSTEM

BATCH = 200
PLAN_AGAIN = dt.timedelta(seconds=20)  # where none could be made
PLAN_AFRESH = dt.timedelta(seconds=60)  # machines and settings change while an order waits


@shared_task(name="clusters.reconcile")  # type: ignore[untyped-decorator]
def reconcile(cluster_id: str) -> None:
    """One pass over one cluster."""
    engine.reconcile(cluster_id)


@shared_task(name="clusters.make_plan")  # type: ignore[untyped-decorator]
def make_plan(order_id: str) -> None:
    """The plan of one order that waits for approval."""
    plan.make_plan(order_id)


@shared_task(name="clusters.reconcile_due")  # type: ignore[untyped-decorator]
def reconcile_due() -> None:
    """The truth behind all hints: what is due, what is to end, which orders lack a plan."""
    now = clock.now()
    for cluster in Cluster.objects.filter(terminate_at__lte=now, wanted=True).order_by("terminate_at")[
        :BATCH
    ]:
        with contextlib.suppress(WrongState):
            begin_due_removal(actor=SYSTEM, cluster=cluster)
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    due = (
        Cluster.objects.filter(free, next_reconcile_at__lte=now, paused=False)
        .exclude(phase__in=[Phase.DELETED, Phase.FAILED])
        .order_by("next_reconcile_at")
        .values_list("pk", "site__task_queue")
    )
    for key, queue in due[:BATCH]:
        hints.send("clusters.reconcile", key=key, queue=queue)
    _plans_due(now)


def _plans_due(now: dt.datetime) -> None:
    unplanned = Q(planned_at=None) | Q(plan_hash="", planned_at__lt=now - PLAN_AGAIN)
    unplanned |= Q(planned_at__lt=now - PLAN_AFRESH)
    waiting = (
        Order.objects.filter(unplanned, state=OrderState.SUBMITTED)
        .order_by("submitted_at")
        .values_list("pk", "site__task_queue")
    )
    for key, queue in waiting[:BATCH]:
        hints.send("clusters.make_plan", key=key, queue=queue)


@shared_task(name="clusters.follow_kube")  # type: ignore[untyped-decorator]
def follow_kube(account_id: str) -> None:
    """One member's rights and kubeconfigs in one API server."""
    with contextlib.suppress(OutsideError, WrongState):  # noted, with when to try again
        kubeconfigs.follow(int(account_id))


@shared_task(name="clusters.follow_kube_due")  # type: ignore[untyped-decorator]
def follow_kube_due() -> None:
    """What is to be followed in API servers: changed rights, ended kubeconfigs, a look around at times."""
    for key in kubeconfigs.due(clock.now())[:BATCH]:
        hints.send("clusters.follow_kube", key=key, queue="default")


@shared_task(name="clusters.look_at_workloads")  # type: ignore[untyped-decorator]
def look_at_workloads(cluster_id: str) -> None:
    """Volcano's queues and jobs of one cluster."""
    workloads.look(cluster_id)


@shared_task(name="clusters.look_at_workloads_due")  # type: ignore[untyped-decorator]
def look_at_workloads_due() -> None:
    """Clusters with Volcano that were not looked at for a while."""
    for key in workloads.due(clock.now())[:BATCH]:
        hints.send("clusters.look_at_workloads", key=key, queue="default")


@shared_task(name="clusters.learn_site")  # type: ignore[untyped-decorator]
def learn_site(site_id: str) -> None:
    """What the order form of one site asks."""
    site_facts.learn(site_id)


@shared_task(name="clusters.learn_sites")  # type: ignore[untyped-decorator]
def learn_sites() -> None:
    """Sites whose order form is made from a template, or was."""
    rows = Site.objects.filter(active=True).filter(
        Q(drivers__control_plane=site_facts.DRIVER)
        | Q(facts__isnull=False)
        | Q(drivers__machines__in=list(THEY_PICK))
    )
    for key, queue in rows.values_list("pk", "task_queue")[:BATCH]:
        hints.send("clusters.learn_site", key=key, queue=queue)


@shared_task(name="clusters.prune_samples")  # type: ignore[untyped-decorator]
def prune_samples() -> None:
    """Forget how busy clusters were longer ago than any plot looks."""
    utilisation.prune(clock.now())
