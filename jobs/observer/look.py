"""One look at one cluster: choose a source that its queue can bear, save, and settle open submits."""

from __future__ import annotations

import datetime as dt
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec
from django.db import transaction

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import Diag
from clusters.models import IdentityKind, SlurmEndpoint, SlurmIdentity
from clusters.services import observation
from jobs import live, outside
from jobs.observer import whole
from jobs.observer.by_ids import by_ids
from jobs.observer.by_list import ask_list, by_list
from jobs.observer.inventory import read_inventory, save_inventory
from jobs.observer.partitions import save_partitions
from jobs.observer.resolve import unsettled
from jobs.observer.sources import CONSOLE, LIST, SINGLE, STATES, Memory, may_list
from portal.lib import clock
from portal.lib.errors import OutsideError
from tenants.live.topics import publish

__all__ = ["CONSOLE", "LIST", "SINGLE", "STATES", "Memory", "Seen", "look"]

NODES_EVERY: Final = dt.timedelta(seconds=10)
PARTITIONS_EVERY: Final = dt.timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found."""

    source: str
    active: bool


def look(endpoint: SlurmEndpoint, memory: Memory, background: Executor | None = None) -> Seen:
    """Look once. Raises OutsideError (temporary or permanent) when the cluster gives no usable answer.

    A long queue as a whole is read in the `background`, so that what people watch does not wait for it.
    """
    started = clock.now()
    observer = _observer(endpoint, memory, started)
    with (
        outside.gateway_for(observer, endpoint, kept=True) as gateway,
        ThreadPoolExecutor(2, thread_name_prefix="ask") as beside,  # while Slurm answers, we read our rows
    ):
        counts = beside.submit(_diag, gateway, endpoint, memory)
        ask = partial(ask_list, memory, gateway, started, beside)
        asked = ask() if memory.is_surely_short else None  # which the counts would say as well
        open_submits = unsettled(endpoint.cluster, looked_at=started)
        diag = counts.result()
        running, pending = diag.jobs_running, diag.jobs_pending
        if may_list(endpoint.cluster_id, memory, diag, started):
            if asked is not None:  # by a clock that was read beside it, it may be older by so much
                old = 1 + int(time.monotonic() - asked.at)
                diag = msgspec.structs.replace(diag, req_time=diag.req_time - old)
            source, asked = LIST, asked or ask()
            cluster = endpoint.cluster
            changed = by_list(cluster, memory, gateway, diag, started, asked=asked, open_submits=open_submits)
            running, pending = memory.counts
            memory.whole.lines.clear()  # what it knew is older than the rows
        else:
            memory.listed.clear()
            is_known = whole.source_of(memory, started) != SINGLE
            changed = by_ids(endpoint.cluster, memory, gateway, started, open_submits, is_known=is_known)
            whole.start_if_due(endpoint, observer, memory, diag, background)
            source = whole.source_of(memory, started)
            if source != SINGLE:
                running, pending = memory.whole.counts
        _look_at_nodes(endpoint, memory, gateway, started, changed=changed)
    observation.note_seen(endpoint, seen_at=started, pending=pending, running=running, source=source)
    return Seen(source=source, active=bool(running or pending))


def _observer(endpoint: SlurmEndpoint, memory: Memory, now: dt.datetime) -> SlurmIdentity:
    """Read as often as partitions, and after each failure."""
    if memory.observer is None or _is_due(memory.partitions_at, PARTITIONS_EVERY, now):
        memory.observer = SlurmIdentity.objects.get(
            cluster_id=endpoint.cluster_id, kind=IdentityKind.OBSERVER, active=True
        )
    return memory.observer


def _is_due(last: dt.datetime | None, every: dt.timedelta, now: dt.datetime) -> bool:
    return last is None or now - last >= every


def _diag(gateway: SlurmGateway, endpoint: SlurmEndpoint, memory: Memory) -> Diag:
    try:
        diag = gateway.diag()
    except OutsideError:
        memory.list_failed_at = None  # if a list failed just now, then not because it is long
        raise
    memory.note_answer(was_silent=endpoint.unreachable_since is not None)
    return diag


def _look_at_nodes(
    endpoint: SlurmEndpoint, memory: Memory, gateway: SlurmGateway, started: dt.datetime, *, changed: bool
) -> None:
    cluster = endpoint.cluster
    nodes = partitions = inventory = None
    if changed or _is_due(memory.nodes_at, NODES_EVERY, started):
        nodes = gateway.nodes()
        memory.nodes_at = started
        names = frozenset(node.name for node in nodes)
        if names != memory.node_names:  # the cluster was resized: what its partitions have is not as known
            memory.node_names, memory.partitions_at = names, None
    if _is_due(memory.partitions_at, PARTITIONS_EVERY, started):
        partitions = gateway.partitions()
        inventory = read_inventory(gateway)
        memory.partitions_at = started
    if nodes is None and partitions is None:
        return
    with transaction.atomic():
        if nodes is not None and observation.save_nodes(cluster, nodes, seen_at=started):
            publish(live.queue(cluster.tenant_id, cluster.pk))
        if partitions is not None:
            save_partitions(cluster, partitions, seen_at=started)
        if inventory is not None:
            save_inventory(cluster, inventory, seen_at=started)
