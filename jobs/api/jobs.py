"""Jobs: lists, one job, what happened to it, and its cancel."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Cluster, SlurmEndpoint
from clusters.stacks import require_slurm
from jobs import filters, listing, live, words
from jobs.history.steps import StepLine, steps_of
from jobs.models import Job, JobEvent, JobState
from jobs.observer.pace import note_watched
from jobs.reasons import reason_of
from jobs.services import actions
from portal.lib import clock
from portal.lib.errors import NotAllowed
from tenants.api.paging import keyset_page, one_page, page_of, read_cursor
from tenants.api.serializers import PageQuery, Person
from tenants.api.versions import versioned
from tenants.api.views import TenantApi, operation, read_query
from tenants.rights import Action, require
from tenants.scoping import get_visible

JOBS = Job.objects.select_related("cluster__slurm", "cluster__site", "owner", "identity", "told_steps")


class ClusterRef(serializers.Serializer[Cluster]):
    """Which cluster."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class JobOut(serializers.Serializer[Job]):
    """The last known row of a Slurm job; an array's task that started is a job of its own."""

    id = serializers.UUIDField()
    slurm_job_id = serializers.IntegerField()
    label = serializers.CharField(  # type: ignore[assignment]  # the metaclass takes fields away
        help_text="As Slurm's tools print the id: 12, 12_3 or 12_[4-8%2]."
    )
    name = serializers.CharField()
    cluster = ClusterRef()
    owner = Person(allow_null=True, help_text="Null: nobody of this tenant.")
    user_name = serializers.CharField(help_text="The account in the cluster.")
    state = serializers.ChoiceField(choices=JobState.choices)
    flags = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField(help_text="Slurm's word for why it waits or ended.")
    is_active = serializers.BooleanField(help_text="Not ended.")
    partition = serializers.CharField()
    node_count = serializers.IntegerField(allow_null=True)
    cpus = serializers.IntegerField(allow_null=True)
    gpus = serializers.IntegerField(allow_null=True)
    memory_mib = serializers.IntegerField(allow_null=True, help_text="Per node; 0 is all of the node.")
    memory_per_cpu_mib = serializers.IntegerField(allow_null=True)
    time_limit_minutes = serializers.IntegerField(allow_null=True, help_text="Null: unlimited or not told.")
    task_count = serializers.IntegerField(help_text="Tasks that a folded record of an array stands for.")
    line_state = serializers.ChoiceField(
        choices=JobState.choices,
        help_text="Of a folded line the most telling state of its tasks; else `state`.",
    )
    states = serializers.DictField(
        source="group_states",
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="Of the row that stands for an array or het job: how many tasks are in each state.",
    )
    submit_time = serializers.DateTimeField()
    start_time = serializers.DateTimeField(allow_null=True, help_text="Of a pending job: the estimate.")
    end_time = serializers.DateTimeField(allow_null=True)
    exit_status = serializers.IntegerField(allow_null=True)
    exit_signal = serializers.IntegerField(allow_null=True)
    observed_at = serializers.DateTimeField(help_text="When Slurm was last seen to say so.")


class JobStepOut(serializers.Serializer[StepLine]):
    """One of Slurm's steps of a job, as its accounting told of it."""

    step = serializers.CharField(help_text="batch: the script; extern; 0 and up: runs of srun.")
    name = serializers.CharField()
    state = serializers.CharField(help_text="As of jobs; UNKNOWN where Slurm says another word.")
    exit_status = serializers.IntegerField(
        allow_null=True, help_text="Null: it runs, or this Slurm does not tell it right."
    )
    exit_signal = serializers.IntegerField(allow_null=True)
    node_count = serializers.IntegerField(allow_null=True)
    task_count = serializers.IntegerField(allow_null=True)
    start_time = serializers.DateTimeField(allow_null=True)
    end_time = serializers.DateTimeField(allow_null=True)
    elapsed_seconds = serializers.IntegerField(allow_null=True, help_text="Null while it runs.")
    cpu_seconds = serializers.FloatField(allow_null=True, help_text="Null: not gathered.")
    memory_mib = serializers.IntegerField(
        allow_null=True, help_text="The most that one of its tasks held; null: not gathered."
    )


class JobDetail(JobOut):
    """With all that is known."""

    account = serializers.CharField()
    qos = serializers.CharField()
    nodes = serializers.CharField()
    array_job_id = serializers.IntegerField(allow_null=True)
    array_task_id = serializers.IntegerField(allow_null=True)
    het_job_id = serializers.IntegerField(allow_null=True)
    het_offset = serializers.IntegerField(allow_null=True)
    working_directory = serializers.CharField()
    stdout_path = serializers.CharField()
    stderr_path = serializers.CharField(help_text="Empty: same as output.")
    comment = serializers.CharField()
    restarts = serializers.IntegerField()
    eligible_time = serializers.DateTimeField(allow_null=True)
    steps = serializers.SerializerMethodField(
        help_text="Up to a minute old while it runs; of very many the first 50 and the last 50. "
        "Null: nothing is known."
    )
    step_count = serializers.SerializerMethodField(help_text="Of all of its steps; null: not known.")
    unreachable_since = serializers.SerializerMethodField(
        help_text="Since when its Slurm does not answer, so that all of this is as last seen; null: it does."
    )
    said = serializers.SerializerMethodField(help_text="Why it waits or how it ended, in a sentence.")
    advice = serializers.SerializerMethodField(help_text="What to try; may be empty.")

    @extend_schema_field(JobStepOut(many=True, allow_null=True))
    def get_steps(self, row: Job) -> Any:
        """As the page of the job shows them."""
        told = steps_of(row, clock.now())
        many: Any = JobStepOut
        return many(told.lines, many=True).data if told and told.lines else None

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_step_count(self, row: Job) -> int | None:
        """With those that are left out."""
        told = steps_of(row, clock.now())
        return told.count if told and told.lines else None

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_unreachable_since(self, row: Job) -> dt.datetime | None:
        """As the pages say it."""
        return silent_since(row)

    @extend_schema_field(serializers.CharField())
    def get_said(self, row: Job) -> str:
        """Empty while it runs."""
        if row.state == JobState.PENDING:
            return words.why_waiting(row.reason)
        outcome = words.outcome_of(row)
        return str(outcome.what) if outcome else ""

    @extend_schema_field(serializers.CharField())
    def get_advice(self, row: Job) -> str:
        """Of a job that waits, or that ended badly."""
        if row.state == JobState.PENDING:
            return str(reason_of(row.reason).advice)
        outcome = words.outcome_of(row)
        return str(outcome.advice) if outcome else ""


class JobEventOut(serializers.Serializer[JobEvent]):
    """A change of state or reason as it was seen."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=JobState.choices)
    reason = serializers.CharField()


class QueueQuery(PageQuery):
    """Which jobs of a list, and in which order."""

    state = serializers.ChoiceField(
        choices=list(filters.STATES), required=False, help_text="Of a folded line one task in it is enough."
    )
    text = serializers.CharField(
        required=False,
        max_length=filters.LONGEST_TEXT,
        help_text="In the name, or a Slurm job id: 12, 12_3.",
    )
    user = serializers.CharField(
        required=False, max_length=64, help_text="A person's id, or the name of an account in the cluster."
    )
    partition = serializers.CharField(required=False, max_length=200)
    account = serializers.CharField(required=False, max_length=200, help_text="Slurm's account.")
    gpus = serializers.ChoiceField(choices=list(filters.GPUS), required=False)
    since = serializers.DateTimeField(required=False, help_text="Submitted at this moment or later.")
    until = serializers.DateTimeField(required=False, help_text="Submitted before this moment.")
    sort = serializers.ChoiceField(
        choices=list(filters.SORTS),
        required=False,
        help_text="Default: at work, waiting, then what ended, each with the newest first.",
    )
    folded = serializers.BooleanField(
        default=False, help_text="Whether an array and a het job are one item: its `line_state` and `states`."
    )


class JobQuery(QueueQuery):
    """Which jobs."""

    who = serializers.ChoiceField(choices=["me", "everyone"], default="me")
    cluster = serializers.UUIDField(required=False)


class JobsApi(TenantApi):
    """/jobs/"""

    @operation("jobs_list", tag="jobs", answer=page_of(JobOut), query=JobQuery)
    def get(self, request: Request) -> Response:
        """Jobs of all clusters: at work first, then waiting, then the latest that ended."""
        require(self.actor, Action.VIEW)
        query = read_query(request, JobQuery)
        after = read_cursor(request, query) or ""
        page = listing.list_jobs(
            self.actor, _wanted(query), after=after, size=query["limit"], folded=query["folded"]
        )
        note_watched(sorted({row.cluster_id for row in page.rows if row.is_active}))
        return one_page(request, query, _rows(page), page.after or None)


class QueueApi(TenantApi):
    """/clusters/<id>/queue/"""

    @operation("cluster_queue", tag="jobs", answer=page_of(JobOut), query=QueueQuery)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Everyone's jobs of a cluster that have not ended."""
        cluster = get_visible(Cluster.objects.all(), self.actor, pk)
        require_slurm(cluster)
        query = read_query(request, QueueQuery)
        note_watched([cluster.pk])
        after = read_cursor(request, query) or ""
        page = listing.list_queue(
            self.actor, cluster, _wanted(query), after=after, size=query["limit"], folded=query["folded"]
        )
        return one_page(request, query, _rows(page), page.after or None)


class JobApi(TenantApi):
    """/jobs/<id>/"""

    @operation("job", tag="jobs", answer=JobDetail, versioned=True)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """One job."""
        row = get_visible(JOBS.all(), self.actor, pk)
        note_watched([row.cluster_id])
        also = silent_since(row)
        return versioned(
            request, self.actor, row, live.job(row), answer=lambda: JobDetail(row).data, also=also
        )


class JobEventsApi(TenantApi):
    """/jobs/<id>/events/"""

    @operation("job_events", tag="jobs", answer=page_of(JobEventOut), query=PageQuery)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Changes of its state, the oldest first."""
        row = get_visible(Job.objects.all(), self.actor, pk)
        rows = JobEvent.objects.for_actor(self.actor).filter(job=row)
        return keyset_page(request, rows, JobEventOut, read_query(request, PageQuery), by=("pk",))


class JobCancelApi(TenantApi):
    """/jobs/<id>/cancel/"""

    @operation("job_cancel", tag="jobs", answer=JobDetail, outside=True)
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """End a job or one task; the waiting rest of an array and a part of a het job end all of it."""
        row = get_visible(JOBS.all(), self.actor, pk)
        if not actions.may_act(self.actor, row):
            raise NotAllowed(_("Only who submitted a job and the tenant's admins may cancel it."))
        actions.cancel_job(actor=self.actor, job=row)
        return Response(JobDetail(get_visible(JOBS.all(), self.actor, pk)).data)


def silent_since(row: Job) -> dt.datetime | None:
    """Since when the job's cluster does not answer."""
    endpoint: SlurmEndpoint | None = getattr(row.cluster, "slurm", None)
    return endpoint.unreachable_since if endpoint else None


def _wanted(query: Mapping[str, Any]) -> filters.Filter:
    """As the pages have it."""
    words = ("state", "text", "user", "partition", "account", "gpus", "sort")
    moments = {name: query[name].isoformat() for name in ("since", "until") if name in query}
    return filters.Filter(
        everyone=query.get("who") == "everyone",
        cluster=query.get("cluster"),
        **{name: query.get(name, "") for name in words},
        **moments,
    )


def _rows(page: listing.Page) -> Any:
    many: Any = JobOut
    return many(page.rows, many=True).data
