"""Who writes a cluster's jobs: one writer of what was seen at a time, and meanwhile no submit adds a row.

Locks of PostgreSQL that end with the transaction. Unlike locks on rows they are fair: submits that come one
after the other share theirs, and do not keep the observer waiting for ever.
"""

from __future__ import annotations

import datetime as dt
import uuid

from django.db import connection


def take(cluster_id: uuid.UUID) -> None:
    """For who compares what was seen with all rows: alone. Needs an open transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_key(cluster_id)])


def share(cluster_id: uuid.UUID) -> dt.datetime | None:
    """For a submit that adds one row; returns when the next look is due. Needs an open transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock_shared(%s), next_observe_at"
            " FROM clusters_slurmendpoint WHERE cluster_id = %s",
            [_key(cluster_id), cluster_id],
        )
        row = cursor.fetchone()
    return row[1] if row else None


def _key(cluster_id: uuid.UUID) -> int:
    """Half of the id: whoever shares it waits sometimes, and nothing else."""
    return int.from_bytes(cluster_id.bytes[:8], "big", signed=True)
