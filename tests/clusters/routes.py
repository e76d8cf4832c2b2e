"""Addresses of the clusters pages and rows of their live kinds, for the generated stranger test."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.db import models

from clusters.models import Cluster, Offering, Order, Phase
from portal.lib.types import JSONDict
from tests.architecture.routes import ADMINS, OWNERS, Route, World
from tests.clusters import kubes
from tests.clusters.builders import make_cluster, make_order, make_site
from tests.clusters.kubes import make_grant, make_kube_cluster
from tests.clusters.volcanoes import make_volcano_cluster


def order_of(world: World) -> JSONDict:
    return {"pk": _order(world).pk}


def cluster_of(world: World) -> JSONDict:
    return {"pk": _cluster(world).pk}


def _order(world: World) -> Order:
    site = world.make(make_site)
    return world.make(make_order, world.tenant, site, planned=False)


def _cluster(world: World) -> Cluster:
    site = world.make(make_site)
    return world.make(make_cluster, world.tenant, site, phase=Phase.READY)


def kube_cluster_of(world: World) -> JSONDict:
    return {"pk": world.make(make_kube_cluster, world.tenant).pk}


def kubeconfig_of(world: World) -> JSONDict:
    """One of the owner's."""
    return {"pk": world.make(make_grant, world.make(make_kube_cluster, world.tenant)).pk}


def volcano_cluster_of(world: World) -> JSONDict:
    return {"pk": _volcano_cluster(world).pk}


def _volcano_cluster(world: World) -> Cluster:
    return world.make(make_volcano_cluster, world.tenant)


def answering(world: World) -> Any:
    """With API servers that are played in memory."""
    return kubes.answering()


def order_data(world: World) -> JSONDict:
    site = world.make(make_site)
    return {
        # every press of the button is a form of its own
        "key": lambda: str(uuid.uuid4()),
        "name": lambda: f"gpu-{uuid.uuid4().hex[:8]}",
        "stack": "slurm",
        "site": str(site.pk),
        "rows": "1",
        "pool-0-name": "train",
        "pool-0-offering": str(Offering.objects.get(site=site).pk),
        "pool-0-count": "2",
    }


def resize_data(world: World) -> JSONDict:
    return {"key": lambda: str(uuid.uuid4()), "rows": "1", "count-train": "1"}


ROUTES: dict[str, Route] = {
    "orders": Route(),
    "order-new": Route(method="post", data=order_data, roles=ADMINS),
    "order-summary": Route(data=order_data, roles=ADMINS),
    "order": Route(order_of),
    "order-cancel": Route(order_of, method="post", roles=ADMINS),
    "clusters": Route(),
    "cluster": Route(cluster_of),
    "cluster-utilisation": Route(cluster_of),
    "cluster-nodes": Route(cluster_of),
    "cluster-steps": Route(cluster_of),
    "cluster-events": Route(cluster_of),
    "cluster-isolation": Route(cluster_of),
    "cluster-volcano": Route(volcano_cluster_of),
    "cluster-access": Route(cluster_of),
    "cluster-settings": Route(cluster_of),
    "kubeconfig-issue": Route(
        kube_cluster_of, method="post", data=lambda world: {"hours": "8"}, around=answering
    ),
    "kubeconfig-revoke": Route(kubeconfig_of, method="post", roles=ADMINS, around=answering),
    "resize": Route(cluster_of, method="post", data=resize_data, roles=ADMINS),
    "resize-summary": Route(cluster_of, data=resize_data, roles=ADMINS),
    "terminate": Route(
        cluster_of,
        method="post",
        data=lambda world: {"when": "later", "confirm": _cluster(world).name},
        roles=OWNERS,
    ),
}
ROWS: dict[str, Callable[[World], models.Model]] = {
    "tenant-overview": lambda world: world.tenant,
    "clusters": lambda world: world.tenant,
    "orders": lambda world: world.tenant,
    "order": _order,
    "cluster": _cluster,
    "cluster-nodes": _cluster,
    "cluster-steps": _cluster,
    "cluster-events": _cluster,
    "cluster-volcano": _volcano_cluster,
    "cluster-access": lambda world: world.make(make_kube_cluster, world.tenant),
}
