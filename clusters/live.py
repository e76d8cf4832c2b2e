"""Which topics a change of an order or a cluster touches."""

from __future__ import annotations

import uuid

from clusters.models import Cluster, Order
from tenants.live.topics import Topic

LAST_ORDERS = 3
OVERVIEW, ORDER = "tenant-overview", "order"
CLUSTERS, ORDERS = "clusters", "orders"  # the two lists of a tenant, as they open
VOLCANO = "cluster-volcano"
ACCESS = "cluster-access"
CLUSTER, NODES, STEPS, EVENTS = "cluster", "cluster-nodes", "cluster-steps", "cluster-events"


def overview(tenant_id: uuid.UUID) -> Topic:
    """The tenant's overview."""
    return Topic(tenant_id, OVERVIEW, tenant_id)


def access(tenant_id: uuid.UUID, cluster_id: uuid.UUID) -> Topic:
    """The Access tab of a cluster."""
    return Topic(tenant_id, ACCESS, cluster_id)


def of_order(order: Order) -> tuple[Topic, ...]:
    """Order page, overview and the list of orders."""
    tenant = order.tenant_id
    return (Topic(tenant, ORDER, order.pk), overview(tenant), Topic(tenant, ORDERS, tenant))


def of_cluster(cluster: Cluster) -> tuple[Topic, ...]:
    """The pages of a cluster, those of its last orders, the overview and the list of clusters.

    The open ones are always among the last; a cancelled one is followed until all of it is taken back.
    """
    orders = Order.objects.filter(cluster=cluster).order_by("-created_at").values_list("pk", flat=True)
    orders = orders[:LAST_ORDERS]
    return (
        *(Topic(cluster.tenant_id, kind, cluster.pk) for kind in (CLUSTER, NODES, STEPS, EVENTS, ACCESS)),
        *(Topic(cluster.tenant_id, ORDER, key) for key in orders),
        overview(cluster.tenant_id),
        Topic(cluster.tenant_id, CLUSTERS, cluster.tenant_id),
    )
