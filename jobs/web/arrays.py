"""The page of an array or a het job: a cell for each task or part, and a list beside."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from jobs import groups, live
from jobs.models import Job, JobState
from jobs.observer.pace import note_watched
from jobs.selectors import endpoint_of, submission_of
from jobs.services import actions, acts
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

ROWS = Job.objects.select_related("cluster__site", "owner", "identity")


@require_safe
@in_tenant
def job_tasks(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """All tasks of the array, or parts of the set, to which this job belongs."""
    row = get_visible(ROWS.all(), request.actor, pk)
    line = groups.line_of(request.actor, row)
    slug = request.resolver_match.kwargs["tenant"] if request.resolver_match else ""
    if line is None:
        return redirect("job", slug, row.pk)
    if line.pk != row.pk:
        return redirect("job-tasks", slug, line.pk)
    note_watched([row.cluster_id])
    state = request.GET.get("state", "")
    state = state if state in JobState.values else ""
    first, after = _number(request.GET.get("from"), 0), _number(request.GET.get("after"), -1)
    is_live = not state and not first and after < 0
    made = submission_of(row)
    context = tasks_context(request.actor, row, state=state, first=first, after=after) | {
        "is_live": is_live,
        "submission": made,
        "is_submitter": made is not None and made.user == request.actor.user,
        "selection": acts.many_offers(request.actor, row.cluster),
        "live_topics": [live.tasks(row)] if is_live else [],
    }
    return render(request, "jobs/tasks.html", context)


def tasks_context(actor: Actor, line: Job, *, state: str = "", first: int = 0, after: int = -1) -> JSONDict:
    """What the live part of the page needs."""
    return {
        "job": line,
        "group": groups.group_of(actor, line, state=state, first=first, after=after),
        "endpoint": endpoint_of(line.cluster_id),
        "state": state,
        "first": first,
        "may_select": actions.may_act(actor, line) and line.identity_id is not None,
    }


def _number(text: str | None, default: int) -> int:
    """Of the address; anything else is the beginning."""
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 10
    return int(text or 0) if is_number else default
