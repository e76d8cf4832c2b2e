"""Saves a listing of partitions: what the submit form offers and checks against."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from clusters.clients.slurmrest.models import Limit, PartitionRecord
from clusters.models import Cluster, NodePool
from jobs.models import Partition

_COLUMNS = (
    *("state", "is_default", "max_time_minutes", "default_time_minutes", "max_nodes", "total_nodes"),
    *("total_cpus", "gpus", "gpu_models", "observed_at"),
    *("qos", "allowed_accounts", "denied_accounts", "allowed_qos", "denied_qos"),
)


def save_partitions(cluster: Cluster, records: Sequence[PartitionRecord], *, seen_at: dt.datetime) -> None:
    """Write a complete listing. Needs an open transaction."""
    pools = {pool.name: pool for pool in NodePool.objects.filter(cluster=cluster).select_related("flavor")}
    rows = [_row(cluster, record, pools.get(record.name), seen_at) for record in records]
    Partition.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["cluster", "name"], update_fields=list(_COLUMNS)
    )
    Partition.objects.filter(cluster=cluster).exclude(name__in=[row.name for row in rows]).delete()


def _row(cluster: Cluster, record: PartitionRecord, pool: NodePool | None, seen_at: dt.datetime) -> Partition:
    models = {model for model, _ in record.gpus.by_model}
    gpus = record.gpus.total
    if pool is not None and pool.flavor.gpu_count:
        # without accounting Slurm tells no GPUs of a partition; its pool knows
        models.add(pool.flavor.gpu_type)
        gpus = gpus or pool.flavor.gpu_count * pool.count
    return Partition(
        cluster=cluster,
        name=record.name[:200],
        state=record.state[:40],
        is_default=record.is_default,
        max_time_minutes=_number(record.max_time),
        default_time_minutes=_number(record.default_time),
        max_nodes=_number(record.max_nodes),
        total_nodes=record.total_nodes,
        total_cpus=record.total_cpus,
        gpus=gpus,
        gpu_models=sorted(model for model in models if model),
        observed_at=seen_at,
        qos=record.qos[:200],
        allowed_accounts=record.allowed_accounts,
        denied_accounts=record.denied_accounts,
        allowed_qos=record.allowed_qos,
        denied_qos=record.denied_qos,
    )


def _number(limit: Limit) -> int | None:
    return limit if isinstance(limit, int) else None
