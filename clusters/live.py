"""Which topics a change of an order or a cluster touches."""

from __future__ import annotations

import uuid

from clusters.models import OPEN_STATES, Cluster, Order
from tenants.live.topics import Topic

OVERVIEW, ORDER = "tenant-overview", "order"
CLUSTER, NODES, STEPS, EVENTS = "cluster", "cluster-nodes", "cluster-steps", "cluster-events"


def overview(tenant_id: uuid.UUID) -> Topic:
    """The tenant's overview."""
    return Topic(tenant_id, OVERVIEW, tenant_id)


def of_order(order: Order) -> tuple[Topic, ...]:
    """Order page and overview."""
    return (Topic(order.tenant_id, ORDER, order.pk), overview(order.tenant_id))


def of_cluster(cluster: Cluster) -> tuple[Topic, ...]:
    """The pages of a cluster, those of its open orders, and the overview."""
    orders = Order.objects.filter(cluster=cluster, state__in=OPEN_STATES).values_list("pk", flat=True)
    return (
        *(Topic(cluster.tenant_id, kind, cluster.pk) for kind in (CLUSTER, NODES, STEPS, EVENTS)),
        *(Topic(cluster.tenant_id, ORDER, key) for key in orders),
        overview(cluster.tenant_id),
    )
