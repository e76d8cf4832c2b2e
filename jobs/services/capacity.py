"""What a cluster can take, as last seen: the bounds of the submit form and of its checks."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters.models import Cluster, Node, NodePool, SlurmEndpoint, StepState
from jobs.models import Inventory, Partition
from jobs.parsing.numbers import short
from jobs.parsing.options.table import Target

DEFAULT_ARRAY_SIZE = 1001  # Slurm's own default of MaxArraySize
KEPT_FOR = 5.0  # seconds
MOST_KEPT = 256  # clusters


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition, with the largest of its nodes."""

    name: str
    is_default: bool
    is_open: bool
    total_nodes: int
    max_nodes: int | None
    total_cpus: int
    max_time: int | None  # minutes
    default_time: int | None  # minutes
    node_cpus: int = 0
    node_memory: int = 0  # MiB
    node_gpus: int = 0
    gpus: int = 0
    gpu_models: tuple[str, ...] = ()
    price_per_hour: Decimal | None = None  # of one node
    qos: str = ""  # whose limits hold for its jobs
    allowed_accounts: tuple[str, ...] = ()  # none: all of them
    denied_accounts: tuple[str, ...] = ()
    allowed_qos: tuple[str, ...] = ()  # none: all of them
    denied_qos: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """For a choice: train · 2 nodes, each 8 CPUs, 31 GiB, 2 x a100."""
        each = [f"{self.node_cpus} CPUs", f"{short(self.node_memory / 1024)} GiB"]
        if self.node_gpus:
            each.append(f"{self.node_gpus} x {'/'.join(self.gpu_models) or 'GPU'}")
        nodes = ngettext(
            "%(count)d node with %(each)s", "%(count)d nodes, each %(each)s", self.total_nodes
        ) % {"count": self.total_nodes, "each": ", ".join(each)}
        parts = [self.name, nodes if self.node_cpus else "", "" if self.is_open else _("closed")]
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What was seen of a cluster; no partitions: not looked at yet, so nothing is checked."""

    partitions: tuple[PartitionView, ...]
    max_array_size: int
    observed_at: dt.datetime | None = None
    unreachable_since: dt.datetime | None = None
    api: str = ""  # "v0.0.38"
    release: str = ""  # "22.05.8"
    node_names: frozenset[str] = frozenset()  # empty: not looked at
    reservations: frozenset[str] | None = None  # None: not looked at
    licenses: Mapping[str, int] | None = None  # all there are of each; None: not looked at

    @property
    def target(self) -> Target:
        """For which client of Slurm a script is read."""
        return Target.of(self.api, self.release)

    @property
    def default(self) -> PartitionView | None:
        """The partition that Slurm takes when none is named."""
        return next((partition for partition in self.partitions if partition.is_default), None)

    def find(self, name: str | None) -> PartitionView | None:
        """The named partition, or the default one."""
        if name is None:
            return self.default
        return next((partition for partition in self.partitions if partition.name == name), None)


_kept: dict[uuid.UUID, tuple[dt.datetime | None, float, ClusterView]] = {}  # of this process


def recent_view(cluster: Cluster, observed_at: dt.datetime | None) -> ClusterView:
    """As view_of, but made once for all submits between two looks; `observed_at` is when the last one was.

    At most KEPT_FOR old: prices, and what the cluster was built with, change without a look.
    """
    kept = _kept.get(cluster.pk)
    if kept is not None and kept[0] == observed_at and time.monotonic() - kept[1] < KEPT_FOR:
        return kept[2]
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    made_at, view = time.monotonic(), view_of(cluster)
    if view.observed_at == observed_at:  # else a look came in between
        _kept[cluster.pk] = observed_at, made_at, view
    return view


def view_of(cluster: Cluster) -> ClusterView:
    """From the rows of the last look."""
    nodes = list(Node.objects.filter(cluster=cluster))
    prices = dict(NodePool.objects.filter(cluster=cluster).values_list("name", "price_per_hour"))
    inventory = Inventory.objects.filter(cluster=cluster).first()
    endpoint = SlurmEndpoint.objects.filter(cluster=cluster).first()
    return ClusterView(
        partitions=tuple(
            _partition(row, [node for node in nodes if row.name in node.partitions], prices.get(row.name))
            for row in Partition.objects.filter(cluster=cluster).order_by("-is_default", "name")
        ),
        max_array_size=_max_array_size(cluster),
        observed_at=endpoint.observed_at if endpoint else None,
        unreachable_since=endpoint.unreachable_since if endpoint else None,
        api=endpoint.api_version if endpoint else "",
        release=endpoint.release if endpoint else "",
        node_names=frozenset(node.name for node in nodes),
        reservations=frozenset(one["name"] for one in inventory.reservations) if inventory else None,
        licenses={one["name"]: one["total"] for one in inventory.licenses} if inventory else None,
    )


def _partition(row: Partition, nodes: list[Node], price: Decimal | None) -> PartitionView:
    return PartitionView(
        name=row.name,
        is_default=row.is_default,
        is_open=row.state.upper() == "UP",
        total_nodes=row.total_nodes,
        max_nodes=row.max_nodes,
        total_cpus=row.total_cpus,
        max_time=row.max_time_minutes,
        default_time=row.default_time_minutes,
        node_cpus=max((node.cpus for node in nodes), default=0),
        node_memory=max((node.memory_mib for node in nodes), default=0),
        node_gpus=max((node.gpus for node in nodes), default=0),
        gpus=row.gpus or sum(node.gpus for node in nodes),
        gpu_models=tuple(row.gpu_models),
        price_per_hour=price,
        qos=row.qos,
        allowed_accounts=_names(row.allowed_accounts),
        denied_accounts=_names(row.denied_accounts),
        allowed_qos=_names(row.allowed_qos),
        denied_qos=_names(row.denied_qos),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in text.split(",") if name.strip())


def _max_array_size(cluster: Cluster) -> int:
    slurm = StepState.objects.filter(cluster=cluster, name="slurm").values_list("facts", flat=True).first()
    try:
        return int((slurm or {}).get("max_array_size", DEFAULT_ARRAY_SIZE))
    except ValueError:
        return DEFAULT_ARRAY_SIZE
