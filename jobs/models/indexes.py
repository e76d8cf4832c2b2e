"""By what jobs are sought and sorted."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Left

from jobs.models.states import ACTIVE_STATES, AT_WORK_STATES, ENDED_STATES

NAME_SORTED = 64  # characters by which lists are sorted: an index holds no more than 2,704 bytes of a row
_ACTIVE_LINE = Q(is_line=True, line_state__in=ACTIVE_STATES)
_LINE_AT_WORK = Q(is_line=True, line_state__in=AT_WORK_STATES)
_ENDED_LINE = Q(is_line=True, line_state__in=ENDED_STATES)
_NEWEST = ("-submit_time", "-id")
# One for each way in which a list of lines is read, so that its last page costs what the first does.
_LINE_INDEXES = [
    models.Index(fields=["tenant", *_NEWEST], name="lines_active_by_tenant", condition=_ACTIVE_LINE),
    models.Index(fields=["tenant", *_NEWEST], name="lines_ended_by_tenant", condition=_ENDED_LINE),
    models.Index(fields=["owner", *_NEWEST], name="lines_active_by_owner", condition=_ACTIVE_LINE),
    models.Index(fields=["owner", *_NEWEST], name="lines_ended_by_owner", condition=_ENDED_LINE),
    models.Index(fields=["cluster", *_NEWEST], name="lines_active_by_cluster", condition=_ACTIVE_LINE),
    # what is at work comes first, and may be none among very many that wait
    models.Index(fields=["tenant", *_NEWEST], name="lines_at_work_by_tenant", condition=_LINE_AT_WORK),
    models.Index(fields=["cluster", *_NEWEST], name="lines_at_work_by_cluster", condition=_LINE_AT_WORK),
    models.Index(
        fields=["tenant", "partition", *_NEWEST], name="lines_by_partition", condition=Q(is_line=True)
    ),
    models.Index(
        fields=["tenant", "partition"],
        name="lines_in_several",
        condition=Q(is_line=True, partition__contains=","),
    ),
    models.Index(
        fields=["tenant", "account", *_NEWEST],
        name="lines_by_account",
        condition=Q(is_line=True) & ~Q(account=""),
    ),
    models.Index(
        "tenant",
        Left("name", NAME_SORTED),
        "submit_time",
        "id",
        name="lines_by_name",
        condition=Q(is_line=True),
    ),
    models.Index(
        "tenant",
        Coalesce(F("gpus"), Value(0)),
        "submit_time",
        "id",
        name="lines_by_gpus",
        condition=Q(is_line=True),
    ),
]
JOB_INDEXES = [
    models.Index(fields=["tenant", "-submit_time", "-id"], name="jobs_by_tenant"),
    models.Index(fields=["cluster", "-submit_time", "-id"], name="jobs_by_cluster"),
    models.Index(fields=["owner", "-submit_time", "-id"], name="jobs_by_owner"),
    models.Index(
        fields=["cluster", "state"],
        name="jobs_active",
        condition=Q(state__in=ACTIVE_STATES),
    ),
    models.Index(fields=["owner", "-end_time"], name="jobs_by_end"),
    models.Index(fields=["mark"], name="jobs_by_mark"),
    models.Index(  # by id one looks for a whole array, too
        fields=["cluster", "array_job_id"],
        name="jobs_by_array",
        condition=Q(array_job_id__isnull=False),
    ),
    models.Index(fields=["cluster", "het_job_id"], name="jobs_by_set", condition=Q(het_job_id__isnull=False)),
    # lists begin with what is active, which may be few among very many that ended
    models.Index(
        fields=["tenant", "-submit_time", "-id"],
        name="jobs_active_by_tenant",
        condition=Q(state__in=ACTIVE_STATES),
    ),
    models.Index(
        fields=["owner", "-submit_time", "-id"],
        name="jobs_active_by_owner",
        condition=Q(state__in=ACTIVE_STATES),
    ),
    models.Index(
        fields=["tenant", "-submit_time", "-id"],
        name="jobs_at_work_by_tenant",
        condition=Q(state__in=AT_WORK_STATES),
    ),
    *_LINE_INDEXES,
]
