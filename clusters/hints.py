"""Sends tasks by name: hints only, so a lost or doubled one is harmless and a dead broker fails nothing."""

from __future__ import annotations

import structlog
from celery import current_app
from django.db import transaction

from clusters.models import Cluster, KubeAccount, Order

log = structlog.get_logger(__name__)
EXPIRES = 30  # seconds; later the beat scan has asked again


def send(task: str, *, key: object, queue: str) -> None:
    """Now, once; the beat scan of what is due makes up for a lost one."""
    try:
        current_app.send_task(task, args=[str(key)], queue=queue, expires=EXPIRES, retry=False)
    except Exception:  # any trouble of the broker's; what was committed stays committed
        log.warning("hint.lost", task=task, key=str(key), exc_info=True)


def reconcile_soon(cluster: Cluster) -> None:
    """Have a worker of the cluster's site look once the open transaction is committed."""
    key, queue = cluster.pk, cluster.site.task_queue
    transaction.on_commit(lambda: send("clusters.reconcile", key=key, queue=queue), robust=True)


def kube_soon(account: KubeAccount) -> None:
    """Have a worker follow a member's rights in an API server once the open transaction is committed."""
    key = account.pk
    transaction.on_commit(lambda: send("clusters.follow_kube", key=key, queue="default"), robust=True)


def plan_soon(order: Order) -> None:
    """Have a worker of the order's site make its plan once the open transaction is committed."""
    key, queue = order.pk, order.site.task_queue
    transaction.on_commit(lambda: send("clusters.make_plan", key=key, queue=queue), robust=True)
