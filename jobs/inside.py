"""Nodes and partitions of a cluster as last seen, with the jobs on them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Sum

from clusters.models import Cluster, Node
from jobs.listing import texts_with
from jobs.models import ACTIVE_STATES, AT_WORK_STATES, Job, Partition
from jobs.parsing.hosts import holds
from portal.lib.errors import NotVisible
from portal.lib.keyset import ROWS
from tenants.actor import Actor

MOST_ON_NODE = 50


@dataclass(slots=True)
class PartitionFacts:
    """A partition with what its nodes offer and how many tasks want to run there."""

    row: Partition
    nodes: list[Node] = field(default_factory=list)
    running: int = 0
    waiting: int = 0

    @property
    def max_time(self) -> dt.timedelta:
        """The most that a job may run; only where there is a limit."""
        return dt.timedelta(minutes=self.row.max_time_minutes or 0)

    @property
    def default_time(self) -> dt.timedelta:
        """What a job gets that asks for none; only where it differs from the most."""
        return dt.timedelta(minutes=self.row.default_time_minutes or 0)

    @property
    def up(self) -> list[Node]:
        """Neither down nor drained."""
        return [node for node in self.nodes if node.available]

    @property
    def gpus(self) -> int:
        """That work for jobs, busy or free."""
        return sum(node.gpus for node in self.up)

    @property
    def gpus_free(self) -> int:
        """That a job could get now."""
        return sum(max(0, node.gpus - node.gpus_used) for node in self.up)

    @property
    def cpus(self) -> int:
        """As gpus."""
        return sum(node.cpus for node in self.up)

    @property
    def cpus_free(self) -> int:
        """As gpus_free."""
        return sum(max(0, node.cpus - node.cpus_used) for node in self.up)

    @property
    def idle(self) -> int:
        """Nodes on which nothing runs."""
        return sum(1 for node in self.up if not node.cpus_used and not node.gpus_used)


def node_of(actor: Actor, cluster: Cluster, name: str) -> Node:
    """One node. Raises NotVisible where Slurm tells of none of this name."""
    found = Node.objects.for_actor(actor).filter(cluster=cluster, name=name).first()
    if found is None:
        raise NotVisible
    return found


def jobs_on(actor: Actor, cluster: Cluster, name: str) -> tuple[list[Job], int]:
    """(what runs on a node, the newest first and at most so many; how many there are).

    Lists of hosts are read once for each that there is.
    """
    rows = Job.objects.for_actor(actor).filter(cluster=cluster, state__in=AT_WORK_STATES)
    lists = [text for text in rows.order_by().values_list("nodes", flat=True).distinct() if holds(text, name)]
    found = rows.filter(nodes__in=lists)
    shown = found.select_related("cluster", "owner").order_by("-submit_time", "-id")[: MOST_ON_NODE + 1]
    rows_shown = list(shown)
    count = len(rows_shown) if len(rows_shown) <= MOST_ON_NODE else found.count()
    return rows_shown[:MOST_ON_NODE], count


def partitions_of(actor: Actor, cluster: Cluster) -> list[PartitionFacts]:
    """All partitions, the default one first."""
    rows = Partition.objects.for_actor(actor).filter(cluster=cluster).order_by("-is_default", "name")
    return _with_facts(actor, cluster, list(rows))


def partition_of(actor: Actor, cluster: Cluster, name: str) -> PartitionFacts:
    """One partition. Raises NotVisible where Slurm tells of none of this name."""
    rows = list(Partition.objects.for_actor(actor).filter(cluster=cluster, name=name))
    if not rows:
        raise NotVisible
    return _with_facts(actor, cluster, rows)[0]


def first_waiting(actor: Actor, cluster: Cluster, name: str) -> list[Job]:
    """Lines that wait in a partition, those that came first at the top."""
    waiting = Job.objects.for_actor(actor).filter(cluster=cluster, is_line=True, line_state="PENDING")
    rows = waiting.filter(partition__in=texts_with(actor, name))
    return list(rows.select_related("cluster", "owner").order_by("submit_time", "id")[:ROWS])


def _with_facts(actor: Actor, cluster: Cluster, rows: Iterable[Partition]) -> list[PartitionFacts]:
    facts = {row.name: PartitionFacts(row) for row in rows}
    for node in Node.objects.for_actor(actor).filter(cluster=cluster).order_by("name"):
        for name in node.partitions:
            if name in facts:
                facts[name].nodes.append(node)
    running, waiting = _tasks(actor, cluster)
    for name, found in facts.items():
        found.running, found.waiting = running[name], waiting[name]
    return list(facts.values())


def _tasks(actor: Actor, cluster: Cluster) -> tuple[Counter[str], Counter[str]]:
    """Tasks at work and tasks that wait, by partition; one that may run in several waits in each."""
    active = Job.objects.for_actor(actor).filter(cluster=cluster, state__in=ACTIVE_STATES)
    running: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    counted = active.order_by().values_list("partition", "state").annotate(tasks=Sum("task_count"))
    for text, state, tasks in counted:
        for name in text.split(","):
            (waiting if state == "PENDING" else running)[name] += tasks
    return running, waiting
