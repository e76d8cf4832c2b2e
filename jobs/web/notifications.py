"""Notifications: what happened to one's jobs, what one wants to be told of, and the bell on every page."""

from __future__ import annotations

import uuid

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.groups import line_of
from jobs.models import Job
from jobs.notify import service
from portal.lib import keyset
from portal.lib.errors import BadInput
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

MOST_TOASTS = 3


class WantedForm(forms.Form):
    """What to be told of, and how."""

    on_start = forms.BooleanField(label=gettext_lazy("A job starts"), required=False)
    on_end = forms.BooleanField(label=gettext_lazy("A job ends, however it ended"), required=False)
    on_failure = forms.BooleanField(label=gettext_lazy("A job fails"), required=False)
    in_browser = forms.BooleanField(
        label=gettext_lazy("In the browser"),
        required=False,
        help_text=gettext_lazy("By the bell at the top of every page."),
    )
    by_mail = forms.BooleanField(
        label=gettext_lazy("By e-mail"),
        required=False,
        help_text=gettext_lazy("Of an array one mail in ten minutes at most, with counts."),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def notifications(request: TenantRequest) -> HttpResponse:
    """GET: what happened and the setting for all one's jobs. POST: change that setting."""
    actor = request.actor
    form = WantedForm(request.POST if request.method == "POST" else None, initial=_initial(request))
    if form.is_bound and form.is_valid() and _changed(request, form):
        messages.success(request, _("Kept. It holds for what happens from now on."))
        return redirect("notifications", actor.tenant.slug if actor.tenant else "")
    groups = service.newest(actor)
    context = {
        "form": form,
        "groups": groups[: keyset.ROWS],
        "unseen": service.unseen_of(actor).count(),
        "single": service.single_subscriptions(actor)[: keyset.ROWS],
    }
    return render(request, "jobs/notifications.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def job_notify(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What to be told of one job of one's own; of a task or a part: of all that it belongs to."""
    job = get_visible(Job.objects.select_related("cluster", "owner"), request.actor, pk)
    line = line_of(request.actor, job)
    job = line or job
    service.require_owner(request.actor, job)
    form = WantedForm(request.POST if request.method == "POST" else None, initial=_initial(request, job))
    if form.is_bound and form.is_valid() and _changed(request, form, job):
        messages.success(request, _("Kept. It holds for what happens from now on."))
        return redirect("job-tasks" if line else "job", job.tenant.slug, job.pk)
    context = {"form": form, "job": job, "is_group": line is not None}
    return render(request, "jobs/notify.html", context, status=400 if form.errors else 200)


@require_POST
@in_tenant
def notifications_read(request: TenantRequest) -> HttpResponse:
    """All of them are read."""
    service.mark_seen(actor=request.actor)
    return redirect("notifications", request.actor.tenant.slug if request.actor.tenant else "")


@require_safe
@in_tenant
def notifications_bell(request: TenantRequest) -> HttpResponse:
    """How many are unread; those that came since the page last asked (`since`: a count) as toasts, too."""
    unseen = service.unseen_of(request.actor)
    count = unseen.count()
    before = request.GET.get("unread", "")
    if before == str(count):
        return HttpResponse(status=204)
    fresh = count - int(before) if before.isascii() and before.isdigit() and len(before) < 9 else 0
    toasts = service.newest(request.actor)[: min(fresh, MOST_TOASTS)] if fresh > 0 else []
    return render(request, "jobs/_bell.html", {"unread": count, "toasts": toasts})


def _initial(request: TenantRequest, job: Job | None = None) -> dict[str, bool]:
    wanted = service.wanted_of(request.actor, job)
    if job is not None and wanted.is_nothing:
        wanted = service.wanted_of(request.actor)
    return {name: getattr(wanted, name) for name in WantedForm.base_fields}


def _changed(request: TenantRequest, form: WantedForm, job: Job | None = None) -> bool:
    try:
        service.change(actor=request.actor, wanted=service.Wanted(**form.cleaned_data), job=job)
    except BadInput as error:
        for field, told in error.fields.items():
            form.add_error(field or None, told)
        return False
    return True
