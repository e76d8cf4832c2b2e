"""Keeps how busy each cluster was: written by the observer, read by the plots, forgotten after 35 days."""

from __future__ import annotations

import datetime as dt
import uuid

from django.db import connection

from clusters.models import UtilisationSample

KEPT = dt.timedelta(days=35)  # a month and what a look back at its beginning needs
# the sums are taken only where the minute has no row yet
_SAMPLE = """
INSERT INTO clusters_utilisationsample (cluster_id, at, nodes, gpus, gpus_used, running, pending)
SELECT %(cluster)s, %(minute)s, count(*), coalesce(sum(gpus), 0),
       coalesce(sum(least(gpus_used, gpus)), 0), %(running)s, %(pending)s
FROM clusters_node WHERE cluster_id = %(cluster)s AND available
HAVING NOT EXISTS (
    SELECT 1 FROM clusters_utilisationsample WHERE cluster_id = %(cluster)s AND at = %(minute)s)
ON CONFLICT DO NOTHING
"""


def sample(cluster_id: uuid.UUID, *, at: dt.datetime, running: int, pending: int) -> None:
    """Note what was seen, once a minute: a second call within it changes nothing. One statement."""
    values: dict[str, uuid.UUID | dt.datetime | int] = {
        "cluster": cluster_id,
        "minute": at.replace(second=0, microsecond=0),
        "running": running,
        "pending": pending,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLE, values)


def prune(now: dt.datetime) -> int:
    """Remove what no plot looks at any more; how many rows."""
    removed, _ = UtilisationSample.objects.filter(at__lt=now - KEPT).delete()
    return removed
