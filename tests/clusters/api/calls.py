"""How the generated tests call the operations about orders and clusters."""

from __future__ import annotations

import uuid

from clusters.models import Cluster, Offering
from portal.lib.types import JSONDict
from tests.api.calls import Call
from tests.architecture.routes import ADMINS, OWNERS, World
from tests.clusters.builders import make_site
from tests.clusters.routes import (
    answering,
    cluster_of,
    kube_cluster_of,
    kubeconfig_of,
    order_of,
    volcano_cluster_of,
)

ORDERS = frozenset({"orders"})
KUBERNETES = frozenset({"kubernetes"})


def order_body(world: World) -> JSONDict:
    """One pool of two nodes, under a name that is free."""
    site = world.make(make_site)
    offering = Offering.objects.get(site=site)
    return {
        "name": f"gpu-{uuid.uuid4().hex[:8]}",
        "site": str(site.pk),
        "pools": [{"name": "train", "offering": str(offering.pk), "count": 2}],
    }


def quote_body(world: World) -> JSONDict:
    """Two nodes."""
    offering = Offering.objects.get(site=world.make(make_site))
    return {"pools": [{"offering": str(offering.pk), "count": 2}]}


def terminate_body(world: World) -> JSONDict:
    """The name, typed."""
    return {"confirm": Cluster.objects.get(pk=cluster_of(world)["pk"]).name}


CALLS: dict[str, Call] = {
    "catalogue_list": Call(),
    "orders_list": Call(),
    "order_create": Call(body=order_body, roles=ADMINS, scopes=ORDERS, ok=201),
    "order_quote": Call(body=quote_body, roles=ADMINS, scopes=ORDERS),
    "order": Call(order_of),
    "order_cancel": Call(order_of, roles=ADMINS, scopes=ORDERS),
    "clusters_list": Call(),
    "cluster": Call(cluster_of),
    "cluster_terminate": Call(cluster_of, body=terminate_body, roles=OWNERS, scopes=ORDERS, ok=201),
    "cluster_resize": Call(
        cluster_of, body=lambda world: {"counts": {"train": 1}}, roles=ADMINS, scopes=ORDERS, ok=201
    ),
    "cluster_nodes": Call(cluster_of),
    "cluster_steps": Call(cluster_of),
    "cluster_events": Call(cluster_of),
    "cluster_slurm": Call(cluster_of),
    "cluster_volcano": Call(volcano_cluster_of),
    "cluster_kubeconfigs": Call(cluster_of),
    "kubeconfig_issue": Call(
        kube_cluster_of, body=lambda world: {"hours": 8}, scopes=KUBERNETES, ok=201, around=answering
    ),
    "kubeconfig_revoke": Call(kubeconfig_of, roles=ADMINS, scopes=KUBERNETES, around=answering),
}
