"""What stands around a cluster at its site, for the step that shows that it stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from clusters.drivers.isolation import Around, Neighbour, SlurmDoor
from clusters.kube import tenant
from clusters.models import (
    Allocation,
    Cluster,
    ClusterSecret,
    IdentityKind,
    Machine,
    SlurmEndpoint,
    SlurmIdentity,
    StepState,
    StepStatus,
)
from clusters.provisioning.steps import ClusterSpec
from clusters.services.slurm_access import authorities_of
from portal.lib.crypto import unseal
from portal.lib.errors import PermanentError

# where steps tell machines: step, and the facts that hold their names. Not what API servers list: a tenant
# can write any name there, and would raise an alarm at others
TOLD = {"machines": ("machines",), "fabric": ("servers", "ports")}


def around(spec: ClusterSpec) -> Around:
    """Of a cluster with a row. Eight queries, however many clusters there are; secrets stay in the values."""
    row = Cluster.objects.select_related("site").get(pk=UUID(spec.id))
    there = {one.pk: one for one in Cluster.objects.filter(site=row.site, deleted_at=None).exclude(pk=row.pk)}
    # one that goes holds machines to the end, but its servers may be silent already
    strangers = [one for one in there.values() if one.wanted and one.tenant_id != row.tenant_id]
    known = frozenset(Machine.objects.filter(site=row.site).values_list("name", flat=True))
    return Around(tuple(_neighbours(strangers, authorities_of(row.site.settings))), _elsewhere(there), known)


def _neighbours(strangers: Iterable[Cluster], authorities: bytes) -> Iterable[Neighbour]:
    keys = [one.pk for one in strangers]
    kept = ClusterSecret.objects.filter(cluster__in=keys, name=tenant.KEPT_AS)
    ways = {
        one.cluster_id: tenant.unpack(opened) for one in kept if (opened := _opened(one.sealed)) is not None
    }
    doors = {one.cluster_id: one for one in SlurmEndpoint.objects.filter(cluster__in=keys).exclude(url="")}
    looks = dict(
        SlurmIdentity.objects.filter(cluster__in=keys, kind=IdentityKind.OBSERVER, active=True).values_list(
            "cluster_id", "name"
        )
    )
    for one in strangers:
        door, account = doors.get(one.pk), looks.get(one.pk)
        slurm = (
            SlurmDoor(door.url, door.api_version, account, key, authorities)
            if door is not None
            and account
            and door.api_version
            and (key := _opened(door.sealed_jwt_key)) is not None
            else None
        )
        if one.pk in ways or slurm is not None:
            yield Neighbour(one.external_name, ways.get(one.pk), slurm)


def _opened(sealed: bytes | memoryview) -> bytes | None:
    """Another cluster's broken seal is that cluster's trouble."""
    try:
        return unseal(bytes(sealed))
    except PermanentError:
        return None


def _elsewhere(there: Mapping[UUID, Cluster]) -> dict[str, str]:
    """Machines of other clusters, by the books and by what their steps saw last."""
    held = Allocation.objects.filter(pool__cluster__in=list(there), released_at=None)
    found = {
        name: there[cluster].external_name
        for name, cluster in held.values_list("machine__name", "pool__cluster_id")
    }
    states = StepState.objects.filter(cluster__in=list(there), name__in=list(TOLD))
    for state in states.exclude(status=StepStatus.GONE):
        for key in TOLD[state.name]:
            for name in str(state.facts.get(key, "")).split(","):
                if name:
                    found.setdefault(name.rpartition("=")[2], there[state.cluster_id].external_name)
    return found
