"""Writes down which machines the outside picked for a cluster, where it picks them: as rows, once seen.

A row bears the outside's name and nothing else of the machine. What is not told any more was taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clusters.drivers.vcluster_nodes import NodesSettings
from clusters.models import Allocation, AllocationStage, Cluster, Machine, MachineState, NodePool
from portal.lib import clock

LONGEST = 60  # characters of a machine's name


def follow(cluster: Cluster, told: str) -> None:
    """From the fact `nodes`: name=type, comma-separated. Needs an open transaction and the cluster locked."""
    seen = dict(one.rpartition("=")[::2] for one in told.split(",") if one)
    live = {
        row.machine.name: row
        for row in Allocation.objects.filter(pool__cluster=cluster, released_at=None).select_related(
            "machine", "pool"
        )
    }
    names = {name: _row_name(cluster, name) for name in seen}
    gone = [row for name, row in live.items() if name not in set(names.values())]
    _release(gone)
    stays = [row for row in live.values() if row not in gone]
    Allocation.objects.filter(pk__in=[row.pk for row in stays]).exclude(stage=AllocationStage.HELD).update(
        stage=AllocationStage.HELD
    )
    new = {name: kind for name, kind in seen.items() if names[name] not in live}
    for name, pool in _placed(cluster, new, stays):
        Allocation.objects.create(machine=_machine(cluster, names[name], pool), pool=pool)


def _placed(
    cluster: Cluster, new: Mapping[str, str], stays: Sequence[Allocation]
) -> Iterator[tuple[str, NodePool]]:
    """A pool for each: the one that its name tells, else the first of its kind with room."""
    types = NodesSettings.from_site(cluster.site.settings).node_types
    pools = list(
        NodePool.objects.filter(cluster=cluster, count__gt=0).select_related("flavor").order_by("name")
    )
    room = {pool.pk: pool.count - sum(1 for row in stays if row.pool_id == pool.pk) for pool in pools}
    for name, kind in sorted(new.items()):
        fits = [pool for pool in pools if types.get(pool.flavor.name) == kind]
        fits.sort(
            key=lambda pool: (
                not name.startswith(f"{cluster.external_name}-{pool.name}-"),
                room[pool.pk] < 1,
                pool.name,
            )
        )
        if fits:
            room[fits[0].pk] -= 1
            yield name, fits[0]


def _machine(cluster: Cluster, name: str, pool: NodePool) -> Machine:
    made, _ = Machine.objects.get_or_create(
        site=cluster.site, name=name, defaults={"flavor": pool.flavor, "state": MachineState.IN_USE}
    )
    Machine.objects.filter(pk=made.pk).update(flavor=pool.flavor, state=MachineState.IN_USE)
    return made


def _row_name(cluster: Cluster, name: str) -> str:
    """The outside's name; with the cluster's where another cluster's machine is called the same."""
    taken = Allocation.objects.filter(machine__site=cluster.site, machine__name=name, released_at=None)
    if taken.exclude(pool__cluster=cluster).exists():
        name = f"{cluster.external_name}.{name}"
    return name[:LONGEST]


def _release(rows: Sequence[Allocation]) -> None:
    """The outside has taken them back, which it does only after cleaning them."""
    now = clock.now()
    Allocation.objects.filter(pk__in=[row.pk for row in rows]).update(released_at=now)
    Machine.objects.filter(pk__in=[row.machine_id for row in rows]).exclude(state=MachineState.BROKEN).update(
        state=MachineState.FREE, wiped_at=now
    )
