"""Submitting many jobs in one call, for programs that have hundreds."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.stacks import require_slurm
from jobs.api.request import JobIn, Strict, as_sent, typed
from jobs.api.submit import CLUSTERS
from jobs.models import SubmissionState
from jobs.services import batches
from portal.lib.errors import BadInput
from portal.lib.types import JSONDict
from tenants.api.keys import once
from tenants.api.views import TenantApi, operation, read_body
from tenants.rights import Action
from tenants.scoping import get_visible


class BatchIn(Strict):
    """Jobs, each as for a submit of its own."""

    jobs = JobIn(many=True, allow_empty=False, max_length=batches.MOST)  # type: ignore[call-arg]  # many's


class BatchItem(serializers.Serializer[Any]):
    """What became of one job."""

    submission = serializers.UUIDField(allow_null=True, help_text="Null: it was not sent.")
    state = serializers.ChoiceField(choices=SubmissionState.choices, allow_null=True)
    slurm_job_id = serializers.IntegerField(allow_null=True)
    job = serializers.UUIDField(allow_null=True)
    message = serializers.CharField(help_text="Slurm's warnings, or why it was refused.")
    problem = serializers.CharField(help_text="Why there is no job, and what to do; else empty.")
    errors = serializers.DictField(  # type: ignore[assignment]  # the metaclass takes fields away
        child=serializers.CharField(), help_text="What was wrong, by field."
    )


class BatchOut(serializers.Serializer[Any]):
    """One item for each job, in the order of the request."""

    accepted = serializers.IntegerField(help_text="How many Slurm took.")
    items = BatchItem(many=True)


class SubmitManyApi(TenantApi):
    """/clusters/<id>/jobs/many/"""

    @operation("jobs_submit_many", tag="jobs", answer=BatchOut, body=BatchIn, keyed=True, outside=True)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Submit up to 100 jobs. Each is submitted once for the key, and has a submission of its own.

        When one of them cannot be sent as it is, none is, and `errors` names it: "jobs.3.nodes". What Slurm
        says to one job is told in its item. The same key with the same body goes on where a call ended.
        """
        cluster = get_visible(CLUSTERS.all(), self.actor, pk, Action.SUBMIT_JOB)
        require_slurm(cluster)
        asked = [typed(one) for one in read_body(request, BatchIn)["jobs"]]
        with once(request, self.actor) as key:
            try:
                outcomes = batches.submit_jobs(
                    actor=self.actor,
                    cluster=cluster,
                    typed=asked,
                    keys=[uuid.uuid5(key, str(number)) for number in range(len(asked))],
                )
            except BadInput as error:
                error.fields = {f"jobs.{name}": said for name, said in as_sent(error.fields).items()}
                raise
        items = [_item(one) for one in outcomes]
        accepted = sum(item["state"] == SubmissionState.ACCEPTED for item in items)
        return Response({"accepted": accepted, "items": items})


def _item(outcome: batches.Outcome) -> JSONDict:
    """A BatchItem; of a hundred, the serializer would take a tenth of the call."""
    made = outcome.submission
    return {
        "submission": made and made.pk,
        "state": made and made.state,
        "slurm_job_id": made and made.slurm_job_id,
        "job": made and made.job_id,
        "message": made.message if made else "",
        "problem": outcome.problem,
        "errors": as_sent(outcome.fields),
    }
