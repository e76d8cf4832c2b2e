"""The page of a submit of which it is not known yet whether it arrived."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from jobs import live
from jobs.models import Submission
from jobs.observer.pace import note_watched
from jobs.services import describe, submissions
from jobs.web.submit import arrived
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.live.topics import Topic
from tenants.rights import Action
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

ROWS = Submission.objects.select_related("tenant", "cluster", "user", "job", "identity")


@require_safe
@in_tenant
def submission(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """How it stands; on to the job as soon as there is one."""
    row = get_visible(ROWS.all(), request.actor, pk)
    if row.job_id is not None:
        return arrived(row)
    note_watched([row.cluster_id])
    context = submission_context(request.actor, row) | {
        "live_topics": [Topic(row.tenant_id, live.SUBMISSION, row.pk)],
        "sent": describe.of_request(row.request, row.origins),
    }
    return render(request, "jobs/submission.html", context)


def submission_context(actor: Actor, row: Submission) -> JSONDict:
    """What the live part needs."""
    mine = actor.user is not None and row.user_id == actor.user.pk
    return {
        "submission": row,
        "is_submitter": mine,
        "can_send_again": mine and row.state == "absent",
    }


@require_POST
@in_tenant
def submission_again(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Send the same request once more, after it was proved absent."""
    row = get_visible(ROWS.all(), request.actor, pk, Action.SUBMIT_JOB)
    return arrived(submissions.send_again(actor=request.actor, submission=row))
