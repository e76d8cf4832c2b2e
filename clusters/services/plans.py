"""What a plan was made from, so that an approval can tell whether it still holds."""

from __future__ import annotations

import hashlib
import json

from clusters.models import Order
from clusters.services.desired import present
from portal.lib.errors import WrongState
from portal.lib.types import JSONDict


class PlanChanged(WrongState):
    """The plan that was looked at is no longer the order's plan."""


def digest(data: JSONDict) -> str:
    """SHA-256 of the data in one canonical form."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def inputs_of(order: Order) -> str:
    """A hash of everything that a plan depends on: site, drivers, settings, pools and flavors."""
    lines = [
        [
            line.pool,
            line.count,
            line.count_before,
            line.flavor.name,
            line.flavor.gpu_type,
            line.flavor.gpu_count,
            line.flavor.cpus,
            line.flavor.memory_mib,
        ]
        for line in order.lines.select_related("flavor").order_by("pk")
    ]
    site = order.site
    # what a resize begins from; the names of the pools' machines, so that a plan of yesterday is refused
    held = (
        [[pool.name, [str(key) for key in pool.machines]] for pool in present(order.cluster)]
        if order.cluster is not None
        else []
    )
    return digest(
        {
            "site": [site.slug, site.drivers, site.settings],
            "stack": order.stack,
            "parameters": order.parameters,
            "name": order.cluster_name,
            "lines": lines,
            "held": held,
        }
    )


def still_holds(order: Order, plan_hash: str) -> bool:
    """Whether this is the plan of the order, and what it was made from is unchanged."""
    plan = order.plan or {}
    return bool(order.plan_hash) and order.plan_hash == plan_hash and plan.get("inputs") == inputs_of(order)
