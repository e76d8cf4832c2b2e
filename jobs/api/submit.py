"""Submitting: what would be sent, the submit itself, and submits whose answer was lost."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs.api.jobs import JOBS, ClusterRef, JobOut
from jobs.api.qos import BudgetOut
from jobs.api.request import JobIn, named_as_sent, typed
from jobs.models import Job, Submission, SubmissionState
from jobs.observer.pace import note_watched
from jobs.rules import judging, start
from jobs.selectors import submission_of
from jobs.services import actions, describe, requests, submissions
from jobs.services.accounts import rules_for
from jobs.services.amounts import amounts_of
from jobs.services.capacity import view_of
from jobs.services.drafts import read_draft
from jobs.words import told
from portal.lib.errors import NotVisible, WrongState
from portal.lib.types import JSONDict
from tenants.api.keys import once
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery, Person
from tenants.api.views import TenantApi, operation, read_body, read_query
from tenants.rights import Action, may, require
from tenants.scoping import get_visible

SUBMISSIONS = Submission.objects.select_related("cluster", "user", "identity", "job__cluster", "job__owner")
CLUSTERS = Cluster.objects.select_related("tenant")


class LineOut(serializers.Serializer[Any]):
    """One value of a request, and where it came from."""

    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes fields away
    value = serializers.CharField()
    origin = serializers.CharField(
        help_text="API or form (given by who submitted), line 3 (of the script), default, ..."
    )


class OutlookOut(serializers.Serializer[Any]):
    """Jobs that wait in a partition now, and when they start by the cluster's own estimate."""

    partition = serializers.CharField()
    waiting = serializers.IntegerField(help_text="An array counts once.")
    estimated = serializers.IntegerField(help_text="Those for which there is an estimate.")
    earliest = serializers.DateTimeField(allow_null=True)
    latest = serializers.DateTimeField(allow_null=True)


class CheckOut(serializers.Serializer[Any]):
    """What would be sent."""

    lines = LineOut(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    gpu_hours = serializers.FloatField(allow_null=True, help_text="The most that it can use.")
    cost = serializers.DecimalField(
        max_digits=14,
        decimal_places=2,
        allow_null=True,
        help_text="Its share of the nodes, at most; null for those who see no prices.",
    )
    budgets = BudgetOut(many=True, help_text="From which it would be taken.")
    outlook = OutlookOut(many=True, help_text="Of the partitions that it names, or the default one.")
    observed_at = serializers.DateTimeField(allow_null=True, help_text="When the cluster was looked at.")
    rules_observed_at = serializers.DateTimeField(
        allow_null=True, help_text="When accounts, QOS and limits were read; null: not checked."
    )


class SubmissionOut(serializers.Serializer[Submission]):
    """One submit. `checking`: the answer was lost, and its mark is sought before anyone tries again."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=SubmissionState.choices)
    cluster = ClusterRef()
    user = Person()
    slurm_job_id = serializers.IntegerField(allow_null=True)
    job = JobOut(allow_null=True)
    message = serializers.CharField(help_text="Slurm's warnings, or why it was refused.")
    lines = serializers.SerializerMethodField(help_text="As sent, without script and environment.")
    created_at = serializers.DateTimeField()
    sent_at = serializers.DateTimeField()

    @extend_schema_field(LineOut(many=True))
    def get_lines(self, row: Submission) -> Any:
        """With where each value came from."""
        return LineOut(describe.of_request(row.request, row.origins), many=True).data


class SentOut(serializers.Serializer[Any]):
    """A job as it was sent from here."""

    submission = serializers.UUIDField()
    script = serializers.CharField()
    lines = LineOut(many=True)
    environment = serializers.DictField(
        child=serializers.CharField(allow_null=True), help_text="Values are null for all but the submitter."
    )


class SubmitApi(TenantApi):
    """/clusters/<id>/jobs/"""

    @operation(
        "job_submit",
        tag="jobs",
        answer=SubmissionOut,
        status=201,
        more={202: SubmissionOut},
        body=JobIn,
        keyed=True,
        outside=True,
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Submit a job, once for each key. 202: not known yet whether Slurm has it; ask for it later."""
        cluster = get_visible(CLUSTERS.all(), self.actor, pk, Action.SUBMIT_JOB)
        require_slurm(cluster)
        asked = typed(read_body(request, JobIn))
        with once(request, self.actor) as key, named_as_sent():
            made = submissions.submit_job(actor=self.actor, cluster=cluster, typed=asked, key=key)
            if made.state == SubmissionState.REFUSED:
                raise WrongState(
                    _("The submit with this key was refused: %(reason)s") % {"reason": told(made.message)},
                    hint=_("Send it with a new key."),
                )
        return _answer(made)


class SubmitCheckApi(TenantApi):
    """/clusters/<id>/jobs/check/"""

    @operation("job_check", tag="jobs", answer=CheckOut, body=JobIn)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """What a submit would send, and what speaks against it. Nothing is stored or sent."""
        cluster = get_visible(CLUSTERS.all(), self.actor, pk, Action.SUBMIT_JOB)
        require_slurm(cluster)
        view = view_of(cluster)
        rules = rules_for(self.actor, cluster)
        with named_as_sent():
            draft = read_draft(typed(read_body(request, JobIn)), view, rules)
        amounts = amounts_of(draft, view)
        facts = {
            "lines": describe.of_draft(draft, view),
            "notes": draft.notes,
            "gpu_hours": amounts.gpu_hours,
            "cost": amounts.cost if may(self.actor, Action.ORDER) else None,
            "budgets": judging.left_for(draft.values, view, rules) if rules else [],
            "outlook": start.outlook_of(self.actor, cluster, view, draft.partitions),
            "observed_at": view.observed_at,
            "rules_observed_at": rules.observed_at if rules else None,
        }
        return Response(CheckOut(facts).data)


class SubmissionsApi(TenantApi):
    """/submissions/"""

    @operation("submissions_list", tag="jobs", answer=page_of(SubmissionOut), query=PageQuery)
    def get(self, request: Request) -> Response:
        """Your own submits, the newest first."""
        require(self.actor, Action.VIEW)
        rows = SUBMISSIONS.for_actor(self.actor).filter(user=self.actor.user)
        query = read_query(request, PageQuery)
        return keyset_page(request, rows, SubmissionOut, query, by=("-created_at", "-pk"))


class SubmissionApi(TenantApi):
    """/submissions/<id>/"""

    @operation("submission", tag="jobs", answer=SubmissionOut)
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """How a submit stands."""
        row = get_visible(SUBMISSIONS.all(), self.actor, pk)
        note_watched([row.cluster_id])
        return Response(SubmissionOut(row).data)


class SendAgainApi(TenantApi):
    """/submissions/<id>/again/"""

    @operation(
        "submission_again",
        tag="jobs",
        answer=SubmissionOut,
        status=201,
        more={202: SubmissionOut},
        outside=True,
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Send the same request once more, after it was proved that it did not arrive."""
        row = get_visible(SUBMISSIONS.all(), self.actor, pk, Action.SUBMIT_JOB)
        return _answer(submissions.send_again(actor=self.actor, submission=row))


class SentApi(TenantApi):
    """/jobs/<id>/sent/"""

    @operation("job_sent", tag="jobs", answer=SentOut)
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Script, request and environment as they were sent; 404 for a job that was not sent from here."""
        row: Job = get_visible(JOBS.all(), self.actor, pk)
        actions.require_output(self.actor, row)
        made = submission_of(row)
        if made is None:
            raise NotVisible(_("This job was not submitted here, so its script is not known."))
        mine = self.actor.user is not None and made.user_id == self.actor.user.pk
        values = requests.unseal_environment(made) if mine else {}
        facts: JSONDict = {
            "submission": made.pk,
            "script": made.script,
            "lines": describe.of_request(made.request, made.origins),
            "environment": {name: values.get(name) for name in made.request.get("environment", [])},
        }
        return Response(SentOut(facts).data)


_OUT = SubmissionOut()  # made once: for each answer all of its sixty fields would be copied


def _answer(made: Submission) -> Response:
    """201 with the job, 202 while it is not known whether there is one."""
    response = Response(_OUT.to_representation(made), status=202 if made.is_open else 201)
    response["Location"] = settings.PUBLIC_URL + reverse(
        "api-submission", kwargs={"tenant": made.tenant.slug, "pk": made.pk}
    )
    return response
