"""Makes the cluster of an approved order: rows, machines, ids and keys, in the approval's transaction."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from clusters.models import (
    Allocation,
    Cluster,
    Machine,
    MachineState,
    NodePool,
    Order,
    OrderLine,
    SlurmEndpoint,
    Stack,
)
from clusters.picking import they_pick
from clusters.services import capacity, desired, identities
from clusters.services.plans import PlanChanged
from clusters.services.unix_ids import give_ports, next_unix_id
from clusters.services.wake import wake
from portal.lib.crypto import seal

KEY_BYTES = 64


def make_cluster(order: Order) -> Cluster:
    """The cluster that the order's plan describes, with exactly the machines that the plan names.

    Needs an open transaction. Raises PlanChanged when a machine is no longer free.
    """
    machines = take(order)
    cluster = Cluster.objects.create(
        id=order.future_cluster_id,
        tenant=order.tenant,
        site=order.site,
        name=order.cluster_name,
        stack=order.stack,
        parameters=order.parameters,
        gid=next_unix_id(),
    )
    for line in order.lines.select_related("flavor").order_by("pk"):
        _make_pool(cluster, line, machines.get(line.pool, []))
    Machine.objects.filter(pk__in=[machine.pk for pool in machines.values() for machine in pool]).update(
        state=MachineState.IN_USE
    )
    if order.site.drivers.get("machines") == "local":
        give_ports(cluster)
    if order.stack == Stack.SLURM:
        SlurmEndpoint.objects.create(cluster=cluster, sealed_jwt_key=seal(secrets.token_bytes(KEY_BYTES)))
        identities.sync(cluster)
    desired.remember(cluster)
    wake(cluster)
    return cluster


def planned_machines(order: Order) -> dict[str, list[UUID]]:
    """Machine ids by pool, as the plan names them."""
    plan = order.plan or {}
    return {
        pool["name"]: [UUID(machine["id"]) for machine in pool["machines"]] for pool in plan.get("pools", [])
    }


def take(order: Order) -> Mapping[str, list[Machine]]:
    """The free machines that the plan names, by pool, locked. Raises PlanChanged when one is not free.

    Where the outside picks, there are none yet: it is checked that enough are free; the pools promise them.
    """
    if they_pick(order.site):
        _reserve(order)
        return {}
    planned = planned_machines(order)
    pool_of = {key: pool for pool, keys in planned.items() for key in keys}
    found: dict[str, list[Machine]] = defaultdict(list)
    for machine in capacity.lock_free(pool_of):
        found[pool_of[machine.pk]].append(machine)
    missing = len(pool_of) - sum(len(machines) for machines in found.values())
    if missing:
        raise PlanChanged(
            _("The plan changed: %(missing)d of its %(all)d machines were taken meanwhile.")
            % {"missing": missing, "all": len(pool_of)},
            hint=_("Nothing was changed. A new plan is being made; look at it and decide again."),
        )
    return found


def _reserve(order: Order) -> None:
    capacity.lock_site(order.site)
    there = capacity.capacity([order.site])
    wanted = Counter[UUID]()
    for line in order.lines.all():
        wanted[line.flavor_id] += max(line.added, 0)
    for flavor, count in wanted.items():
        found = there.get((order.site_id, flavor))
        if count > (found.free if found else 0):
            raise PlanChanged(
                _("The plan changed: too few nodes are free at %(site)s now.") % {"site": order.site},
                hint=_("Nothing was changed. A new plan is being made; look at it and decide again."),
            )


def _make_pool(cluster: Cluster, line: OrderLine, machines: list[Machine]) -> None:
    pool = NodePool.objects.create(
        cluster=cluster,
        name=line.pool,
        flavor=line.flavor,
        count=line.count,
        price_per_hour=line.price_per_hour,
    )
    Allocation.objects.bulk_create(Allocation(machine=machine, pool=pool) for machine in machines)
