"""Keeps arrays and het jobs as one line in lists: which row stands for it, and what its tasks are doing.

Slurm gives the waiting rest of an array the array's own id, which its last task keeps; a het job's first
part has the set's id. That row is the line. Where it was never seen, the first row of the group stands in.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db import connection

from jobs.models import TELLING_ORDER, Job

_KINDS = ("array_job_id", "het_job_id")
# An id that Slurm used before has a line of its own: rows that were seen with the newest line belong to it.
_FOLD = """
WITH member AS (
    SELECT id, {kind} AS number, slurm_job_id, state, task_count, first_seen_at, is_line
    FROM jobs_job WHERE cluster_id = %(cluster)s AND {kind} = ANY(%(numbers)s)
), line AS (
    SELECT DISTINCT ON (number) number, id, first_seen_at
    FROM member ORDER BY number, slurm_job_id <> number, NOT is_line, first_seen_at DESC, slurm_job_id
), reused AS (
    SELECT number FROM member WHERE slurm_job_id = number GROUP BY number HAVING count(*) > 1
), recent AS (
    SELECT member.id, member.number, member.state, member.task_count, member.is_line, line.id AS line_id
    FROM member JOIN line USING (number) LEFT JOIN reused USING (number)
    WHERE reused.number IS NULL OR member.first_seen_at >= line.first_seen_at - interval '1 minute'
), counted AS (
    SELECT line_id, jsonb_object_agg(state, tasks) AS states,
           (array_agg(state ORDER BY array_position(%(order)s::varchar[], state)))[1] AS state
    FROM (SELECT line_id, state, sum(task_count) AS tasks FROM recent GROUP BY line_id, state) AS each_state
    GROUP BY line_id
), behind AS (
    UPDATE jobs_job AS job SET is_line = false, group_state = '', group_states = NULL FROM recent
    WHERE job.id = recent.id AND recent.id <> recent.line_id AND job.is_line
)
UPDATE jobs_job AS job SET is_line = true, group_state = counted.state, group_states = counted.states
FROM counted WHERE job.id = counted.line_id
AND (job.is_line, job.group_state, job.group_states) IS DISTINCT FROM (true, counted.state, counted.states)
"""


def is_behind(row: Job) -> bool:
    """Whether the line of its group is another row, as far as the row alone tells."""
    return row.group_id is not None and row.slurm_job_id != row.group_id


def fold(rows: Iterable[Job]) -> None:
    """Bring the lines of these rows' arrays and sets up to date. Needs an open transaction."""
    found: dict[tuple[uuid.UUID, str], set[int]] = {}
    for row in rows:
        for kind in _KINDS:
            if (number := getattr(row, kind)) is not None:
                found.setdefault((row.cluster_id, kind), set()).add(number)
    for (cluster_id, kind), numbers in found.items():
        with connection.cursor() as cursor:
            cursor.execute(
                _FOLD.format(kind=kind),
                {"cluster": cluster_id, "numbers": sorted(numbers), "order": list(TELLING_ORDER)},
            )
