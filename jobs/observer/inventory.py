"""Saves which reservations and licences a cluster has: for the page about them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import structlog

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.listings import LicenseRecord, ReservationRecord
from clusters.models import Cluster
from jobs.models import Inventory
from jobs.observer.columns import moment
from portal.lib.errors import OutsideError
from portal.lib.types import JSONDict

log = structlog.get_logger(__name__)
MOST = 500  # of each; a cluster with more is cut


@dataclass(frozen=True, slots=True)
class Listed:
    """What Slurm told."""

    reservations: tuple[ReservationRecord, ...]
    licenses: tuple[LicenseRecord, ...]


def read_inventory(gateway: SlurmGateway) -> Listed | None:
    """None where this Slurm does not tell them now: no other look waits for it or fails by it."""
    try:
        return Listed(gateway.reservations(), gateway.licenses())
    except OutsideError as error:
        log.info("observer.no_inventory", error=error.message)
        return None


def save_inventory(cluster: Cluster, listed: Listed, *, seen_at: dt.datetime) -> None:
    """Write both lists. Needs an open transaction."""
    Inventory.objects.update_or_create(
        cluster=cluster,
        defaults={
            "reservations": [_reservation(one) for one in listed.reservations[:MOST]],
            "licenses": [_license(one) for one in listed.licenses[:MOST]],
            "observed_at": seen_at,
        },
    )


def _reservation(record: ReservationRecord) -> JSONDict:
    start, end = moment(record.start_time), moment(record.end_time)
    return {
        "name": record.name,
        "start": start.isoformat() if start else None,
        "end": end.isoformat() if end else None,
        "nodes": record.nodes,
        "node_count": record.node_count,
        "partition": record.partition,
        "users": record.users,
        "accounts": record.accounts,
        "flags": sorted(record.flags),
    }


def _license(record: LicenseRecord) -> JSONDict:
    return {
        "name": record.name,
        "total": record.total,
        "used": record.used,
        "free": record.free,
        "reserved": record.reserved,
    }
