"""Acts on jobs by API: one job with all that it may need, or one act on several."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.jobs import JOBS, JobDetail
from jobs.api.request import Strict
from jobs.models import Job
from jobs.services import changes, selections
from jobs.services.actions import require_act
from jobs.services.acts import ACTS, CHANGE, SIGNALS
from jobs.services.doing import Wish, do
from tenants.api.views import TenantApi, operation, read_body
from tenants.scoping import get_visible


class ActIn(Strict):
    """What to do."""

    act = serializers.ChoiceField(choices=list(ACTS))
    signal = serializers.ChoiceField(
        choices=list(SIGNALS), required=False, help_text="With cancel; without one Slurm ends the job."
    )
    tasks = serializers.CharField(
        required=False, max_length=1000, help_text="Of an array that waits only these: 8-10,12."
    )
    changes = serializers.DictField(
        child=serializers.CharField(max_length=1000),
        required=False,
        help_text=f"With change: new values as the form takes them, of {', '.join(changes.FIELDS)}.",
    )


class ActOut(serializers.Serializer[Any]):
    """The job as it was seen after the act."""

    differs = serializers.ListField(
        child=serializers.CharField(), help_text="What Slurm took and did not do, a sentence each."
    )
    job = JobDetail()


class ManyIn(Strict):
    """One act on several jobs. A row that stands for an array in a folded list means all of it."""

    act = serializers.ChoiceField(choices=[name for name in ACTS if name != CHANGE])
    jobs = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=selections.MOST)
    signal = serializers.ChoiceField(choices=list(SIGNALS), required=False)


class OutcomeOut(serializers.Serializer[selections.Outcome]):
    """What happened to one job."""

    id = serializers.UUIDField(source="key")
    name = serializers.CharField(source="job.name", default="")
    label: Any = serializers.CharField(source="job.line_label", default="")
    outcome = serializers.ChoiceField(
        choices=[result.value for result in selections.Result], source="result.value"
    )
    message = serializers.CharField(allow_blank=True)


class ManyOut(serializers.Serializer[Any]):
    """In the order of the ids."""

    items = OutcomeOut(many=True)


class JobActApi(TenantApi):
    """/jobs/<id>/act/"""

    @operation("job_act", tag="jobs", answer=ActOut, body=ActIn, outside=True)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Cancel, hold, release, change, requeue, suspend, resume, put first; of a het job all parts."""
        row = get_visible(JOBS.select_related("cluster__site"), self.actor, pk)
        require_act(self.actor, row)
        asked = read_body(request, ActIn)
        act = ACTS[asked["act"]]
        done = do(
            actor=self.actor,
            job=row,
            wish=Wish(
                act,
                signal=asked.get("signal", ""),
                tasks=asked.get("tasks", ""),
                changes=changes.read(row, asked.get("changes", {})) if act.name == CHANGE else None,
            ),
        )
        seen: Job = get_visible(JOBS.all(), self.actor, pk)
        return Response({"differs": list(done.differs), "job": JobDetail(seen).data})


class JobsActApi(TenantApi):
    """/jobs/act/"""

    @operation("jobs_act", tag="jobs", answer=ManyOut, body=ManyIn, outside=True)
    def post(self, request: Request) -> Response:
        """Each id is looked up again within the tenant, and each is told what happened to it."""
        asked = read_body(request, ManyIn)
        outcomes = selections.act_on(
            actor=self.actor,
            act=ACTS[asked["act"]],
            keys=list(dict.fromkeys(asked["jobs"])),
            signal=asked.get("signal", ""),
        )
        return Response(ManyOut({"items": outcomes}).data)
