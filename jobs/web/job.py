"""The page of one job, and its cancel."""

from __future__ import annotations

import datetime as dt
import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from jobs import live, words
from jobs.history import steps
from jobs.models import ACTIVE_STATES, Job, JobState
from jobs.observer.pace import note_watched, note_watched_job
from jobs.parsing.hosts import hosts
from jobs.reasons import reason_of
from jobs.selectors import endpoint_of, submission_of
from jobs.services import actions, acts, describe, requests
from jobs.web import resources
from portal.lib import clock
from portal.lib.errors import NotAllowed
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

ROWS = Job.objects.select_related("cluster__site", "owner", "identity", "use")
MOST_HOSTS = 16  # named one by one


@require_safe
@in_tenant
def job(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """All that is known of a job."""
    row = get_visible(ROWS.select_related("told_steps"), request.actor, pk)
    note_watched([row.cluster_id])
    context = job_context(request.actor, row) | {
        "live_topics": [live.job(row)],
        "reads_output": actions.may_read_output(request.actor, row),
    }
    if context["reads_output"]:
        context |= _as_sent(request.actor, row)
    return render(request, "jobs/job.html", context)


def job_context(actor: Actor, row: Job) -> JSONDict:
    """What the live part of the page needs; that it is made says that somebody looks at this very job."""
    if row.is_active:
        note_watched_job(row.cluster_id, row.slurm_job_id)
    made = submission_of(row)
    request = made.request if made else None
    names = hosts(row.nodes)
    return {
        "job": row,
        "endpoint": endpoint_of(row.cluster_id),
        "why": reason_of(row.reason) if row.state == JobState.PENDING else None,
        "resources": resources.resources_of(row, request),
        "asked_time": resources.asked_time(row, request),
        "partitions": [name for name in row.partition.split(",") if name],
        "hosts": names if len(names) <= MOST_HOSTS else [],
        "knows_asked": request is not None or row.state == JobState.PENDING,
        **_offers(actor, row),
        "outcome": words.outcome_of(row),
        "line": _line(row),
        "steps": steps.steps_of(row, clock.now()),
        "events": _events(row),
        "can_cancel": _can_cancel(actor, row),
        "ends": _ends(row),
    }


def _offers(actor: Actor, row: Job) -> JSONDict:
    """What can be done beside the cancel, and what cannot be done here."""
    found = [offer for offer in acts.offers(actor, row) if offer.act.name != acts.CANCEL]
    return {
        "offers": [offer for offer in found if offer.allowed],
        "not_offered": [offer for offer in found if not offer.allowed],
    }


def _can_cancel(actor: Actor, row: Job) -> bool:
    is_ending = not row.is_active or row.state == JobState.COMPLETING
    return not is_ending and row.identity_id is not None and actions.may_act(actor, row)


def _line(row: Job) -> list[JSONDict]:
    """Submitted, eligible, started, ended: with the state of each."""
    started = row.start_time if row.state != JobState.PENDING else None
    ended = row.end_time if not row.is_active else None
    pending = row.state == JobState.PENDING
    return [
        {"title": _("Submitted"), "status": "good", "at": row.submit_time},
        {
            "title": _("Eligible"),
            "status": "good" if row.eligible_time else "waiting",
            "at": row.eligible_time,
        },
        {
            "title": _("Started") if started or not pending else _("Start"),
            "status": "good" if started else ("waiting" if pending else "unknown"),
            "at": started or (row.start_time if pending else None),
            "text": _("estimated") if pending and row.start_time else _("waited") if started else "",
            "took": max(started - row.submit_time, dt.timedelta()) if started else None,
        },
        {
            "title": _("Ended") if not row.is_active else _("End"),
            "status": row.state if not row.is_active else ("running" if started else "waiting"),
            "at": ended,
            "text": _("ran") if row.ran is not None else "",
            "took": row.ran,
        },
    ]


def _events(row: Job) -> list[JSONDict]:
    """Newest first; a wait or a run that was followed by another event is over."""
    return [
        {
            "title": JobState(event.state).label,
            "bare": True,
            "status": "good" if place and event.state in ACTIVE_STATES else event.state,
            "at": event.at,
            "reason": event.reason,
            "detail": words.why_waiting(event.reason) if event.state == JobState.PENDING else "",
        }
        for place, event in enumerate(row.events.order_by("-id")[:50])
    ]


def _ends(row: Job) -> str:
    """What else a cancel ends; shown before it is confirmed."""
    if row.het_job_id:
        told = _("This is a part of heterogeneous job %(job)d: the whole set ends.")
        return told % {"job": row.het_job_id}
    if row.is_folded:
        told = ngettext(
            "This ends the whole array %(array)d: the %(count)d task that waits and those that run.",
            "This ends the whole array %(array)d: the %(count)d tasks that wait and those that run.",
            row.task_count,
        )
        return told % {"array": row.array_job_id, "count": row.task_count}
    if row.array_job_id:
        told = _("Only task %(task)d of array %(array)d ends.")
        return told % {"task": row.array_task_id, "array": row.array_job_id}
    return ""


def _as_sent(actor: Actor, row: Job) -> JSONDict:
    made = submission_of(row)
    if made is None:
        return {}
    mine = actor.user is not None and made.user_id == actor.user.pk
    names = list(made.request.get("environment", []))
    values = requests.unseal_environment(made) if mine else {}
    return {
        "submission": made,
        "script": made.script.rstrip(),
        "sent": describe.of_request(made.request, made.origins),
        "environment": [(name, values.get(name)) for name in names],
        "is_submitter": mine,
    }


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def job_cancel(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """GET: the question on a page of its own, for browsers without script. POST: cancel."""
    row = get_visible(ROWS.all(), request.actor, pk)
    if not actions.may_act(request.actor, row):
        raise NotAllowed(_("Only who submitted a job and the tenant's admins may cancel it."))
    if request.method != "POST":
        return render(request, "jobs/cancel.html", {"job": row, "ends": _ends(row)})
    row = actions.cancel_job(actor=request.actor, job=row)
    told = _("Job %(job)s is being cancelled.") if row.is_active else _("Job %(job)s was cancelled.")
    messages.success(request, told % {"job": row.label})
    assert request.actor.tenant is not None  # noqa: S101  # in_tenant saw to it
    return redirect("job", request.actor.tenant.slug, row.pk)
