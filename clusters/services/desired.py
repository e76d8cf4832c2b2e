"""Writes the pools that a cluster should have, generation by generation, and goes back to the ones before.

A machine leaves in two steps, each of which has to be seen: first it is emptied of jobs (LEAVING), then it
is wiped and given back (RETURNING), and only then it is free. Nothing here removes a step: the engine goes
forward to whatever is written. Every function needs an open transaction and the cluster locked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.db.models import F, QuerySet

from clusters.models import (
    Allocation,
    AllocationStage,
    Cluster,
    DesiredPools,
    Machine,
    MachineState,
    NodePool,
    Order,
)
from clusters.services import capacity
from clusters.services.wake import wake
from portal.lib import clock
from portal.lib.types import JSONDict


@dataclass(frozen=True, slots=True)
class WantedPool:
    """A pool as it should be."""

    name: str
    flavor_id: UUID
    count: int
    price_per_hour: Decimal
    machines: tuple[UUID, ...]

    def to_json(self) -> JSONDict:
        """As it is stored."""
        return {
            "name": self.name,
            "flavor": str(self.flavor_id),
            "count": self.count,
            "price_per_hour": str(self.price_per_hour),
            "machines": [str(key) for key in self.machines],
        }

    @classmethod
    def from_json(cls, data: JSONDict) -> WantedPool:
        """As it was stored."""
        return cls(
            name=str(data["name"]),
            flavor_id=UUID(data["flavor"]),
            count=int(data["count"]),
            price_per_hour=Decimal(data["price_per_hour"]),
            machines=tuple(UUID(key) for key in data["machines"]),
        )


def present(cluster: Cluster) -> list[WantedPool]:
    """The pools as they are wanted now; removed ones are absent."""
    held: dict[UUID, list[UUID]] = {}
    rows = Allocation.objects.filter(
        pool__cluster=cluster, released_at=None, stage=AllocationStage.HELD
    ).order_by("machine_id")
    for pool_id, machine_id in rows.values_list("pool_id", "machine_id"):
        held.setdefault(pool_id, []).append(machine_id)
    return [
        WantedPool(pool.name, pool.flavor_id, pool.count, pool.price_per_hour, tuple(held.get(pool.pk, ())))
        for pool in NodePool.objects.filter(cluster=cluster, count__gt=0).order_by("name")
    ]


def remember(cluster: Cluster) -> None:
    """Keep the present pools, if no row says them yet, so that a change can go back to them."""
    if not DesiredPools.objects.filter(cluster=cluster).exists():
        _record(cluster, present(cluster), None)


def change(cluster: Cluster, order: Order, pools: Sequence[WantedPool]) -> None:
    """Want these pools from now on, because of this order."""
    remember(cluster)
    _write(cluster, pools)
    _record(cluster, pools, order)


def go_back(cluster: Cluster, order: Order) -> None:
    """Want the pools from before this order again, as a new generation; what it had added leaves in peace.

    Nothing happens if the order never changed anything.
    """
    first = DesiredPools.objects.filter(cluster=cluster, order=order).order_by("generation").first()
    if first is None:
        return
    before = (
        DesiredPools.objects.filter(cluster=cluster, generation__lt=first.generation)
        .order_by("generation")
        .last()
    )
    assert before is not None  # noqa: S101  # `change` remembers first
    pools = [WantedPool.from_json(data) for data in before.pools]
    _write(cluster, pools)
    _record(cluster, pools, order, restores=True)


def is_settled(cluster: Cluster) -> bool:
    """No machine is on its way out."""
    leaving = Allocation.objects.filter(pool__cluster=cluster, released_at=None)
    return not leaving.exclude(stage=AllocationStage.HELD).exists()


def give_back_emptied(cluster: Cluster) -> bool:
    """After everything was seen to work without the leaving machines: let them be wiped. True if any."""
    leaving = _staged(cluster, AllocationStage.LEAVING)
    if not leaving.exists():
        return False
    machines = list(leaving.values_list("machine_id", flat=True))
    leaving.update(stage=AllocationStage.RETURNING)
    Machine.objects.filter(pk__in=machines).exclude(state=MachineState.BROKEN).update(
        state=MachineState.WIPING
    )
    wake(cluster, generation=F("generation") + 1)
    return True


def free_returned(cluster: Cluster) -> None:
    """After the site was seen without them: they are wiped and free."""
    now = clock.now()
    returning = _staged(cluster, AllocationStage.RETURNING)
    machines = list(returning.values_list("machine_id", flat=True))
    Machine.objects.filter(pk__in=machines).exclude(state=MachineState.BROKEN).update(
        state=MachineState.FREE, wiped_at=now
    )
    returning.update(released_at=now)


def _staged(cluster: Cluster, stage: AllocationStage) -> QuerySet[Allocation]:
    return Allocation.objects.filter(pool__cluster=cluster, released_at=None, stage=stage)


def _record(
    cluster: Cluster, pools: Iterable[WantedPool], order: Order | None, *, restores: bool = False
) -> None:
    DesiredPools.objects.create(
        cluster=cluster,
        generation=cluster.generation,
        order=order,
        restores=restores,
        pools=[pool.to_json() for pool in pools],
    )


def _write(cluster: Cluster, pools: Sequence[WantedPool]) -> None:
    NodePool.objects.filter(cluster=cluster).exclude(name__in=[pool.name for pool in pools]).update(count=0)
    live = {
        row.machine_id: row
        for row in Allocation.objects.filter(pool__cluster=cluster, released_at=None).order_by("machine_id")
    }
    wanted: set[UUID] = set()
    for pool in pools:
        row, _ = NodePool.objects.update_or_create(
            cluster=cluster,
            name=pool.name,
            defaults={
                "flavor_id": pool.flavor_id,
                "count": pool.count,
                "price_per_hour": pool.price_per_hour,
            },
        )
        new = [machine.pk for machine in capacity.lock_free(set(pool.machines) - live.keys())]
        Allocation.objects.bulk_create(Allocation(machine_id=key, pool=row) for key in sorted(new))
        wanted |= {*new, *(set(pool.machines) & live.keys())}
    mine = Allocation.objects.filter(pool__cluster=cluster, released_at=None)
    mine.filter(machine__in=wanted).update(stage=AllocationStage.HELD)
    mine.filter(stage=AllocationStage.HELD).exclude(machine__in=wanted).update(stage=AllocationStage.LEAVING)
    Machine.objects.filter(pk__in=wanted).exclude(state=MachineState.BROKEN).update(state=MachineState.IN_USE)
    wake(cluster, generation=F("generation") + 1, reason="", message="")
