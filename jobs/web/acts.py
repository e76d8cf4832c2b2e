"""Acts on one job or on several: first the question on a page of its own, then what happened."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from urllib.parse import urlsplit

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from jobs.models import Job
from jobs.services import acts, changes, selections
from jobs.services.actions import require_act
from jobs.services.acts import ACTS, CANCEL, CHANGE, SIGNALS, Act
from jobs.services.doing import Done, Wish, do
from portal.lib.errors import BadInput, NotVisible
from tenants.actor import Actor
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant, safe_next

ROWS = Job.objects.select_related("cluster__site", "owner", "identity")
LONGEST = 1000
FEW = 20  # jobs of which the question shows all


class ActForm(forms.Form):
    """What an act needs beside the job: nothing, a signal, tasks of an array, or new values."""

    def __init__(self, act: Act, job: Job, data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        if act.name == CANCEL:
            self.fields["signal"] = forms.ChoiceField(
                required=False,
                label=_("Signal"),
                choices=[("", _("End it")), *((name, name) for name in SIGNALS if name != "KILL")],
                help_text=_("With a signal the job is told something, and ends or goes on as it likes."),
            )
        if act.name == CHANGE:
            self._add_values(job)
        elif job.is_folded:
            self.fields["tasks"] = forms.CharField(
                required=False,
                max_length=LONGEST,
                label=_("Only these tasks"),
                help_text=_("Such as 8-10,12. Blank is the whole array."),
            )

    def _add_values(self, job: Job) -> None:
        for name, value in changes.present(job).items():
            self.fields[name] = forms.CharField(
                required=False,
                max_length=LONGEST,
                label=changes.FIELDS[name][0],
                initial=value,
            )

    def wish(self, act: Act, job: Job) -> Wish:
        """What was typed. Raises BadInput with its fields."""
        if not self.is_valid():
            raise BadInput(fields={name: str(errors[0]) for name, errors in self.errors.items()})
        typed = {name: str(value) for name, value in self.cleaned_data.items()}
        if act.name == CHANGE:
            return Wish(act, changes=changes.read(job, typed))
        return Wish(act, signal=typed.get("signal", ""), tasks=typed.get("tasks", ""))

    def note(self, refused: BadInput) -> None:
        """Beside the fields that were refused."""
        for name, told in refused.fields.items():
            self.add_error(name if name in self.fields else None, told)
        if not refused.fields:
            self.add_error(None, refused.message)


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def job_act(request: TenantRequest, pk: uuid.UUID, act: str) -> HttpResponse:
    """GET: the question on a page of its own. POST: do it, and back to the job."""
    row = get_visible(ROWS.all(), request.actor, pk)
    wanted = _act(act)
    require_act(request.actor, row)
    form = ActForm(wanted, row, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        try:
            done = do(actor=request.actor, job=row, wish=form.wish(wanted, row))
        except BadInput as refused:
            form.note(refused)
        else:
            _tell(request, wanted, done)
            return redirect("job", _slug(request.actor), row.pk)
    context = {
        "job": row,
        "act": wanted,
        "form": form,
        "question": str(wanted.question).format(job=row.label),
        "also": acts.ends_also(row),
        "why": acts.why_not(request.actor, row.cluster, wanted),
        "fits": row.state in wanted.states,
    }
    return render(request, "jobs/act.html", context, status=400 if form.is_bound else 200)


@require_POST
@in_tenant
def jobs_act(request: TenantRequest) -> HttpResponse:
    """First the question with number and names; with `confirm` the act, and what happened to each job."""
    wanted, back = _act(request.POST.get("act", "")), _back(request)
    if wanted.name == CHANGE:
        raise NotVisible
    try:
        keys = selections.read_keys(request.POST.getlist("job"))
        signal = request.POST.get("signal", "")
        if request.POST.get("confirm"):
            outcomes = selections.act_on(actor=request.actor, act=wanted, keys=keys, signal=signal)
            return render(request, "jobs/act_result.html", _results(wanted, outcomes, back))
    except BadInput as refused:
        messages.error(request, refused.message)
        return redirect(back)
    rows = selections.chosen(request.actor, keys)
    context = {
        "act": wanted,
        "rows": rows,
        "shown": rows[:FEW],
        "more": max(0, len(rows) - FEW),
        "missing": len(keys) - len(rows),
        "also": sorted({told for row in rows if (told := acts.ends_also(row, whole=True))}),
        "why": _why_not(request.actor, wanted, rows),
        "question": _question(wanted, rows),
        "signals": SIGNALS if wanted.name == CANCEL else (),
        "back": back,
    }
    return render(request, "jobs/act_many.html", context)


def _why_not(actor: Actor, act: Act, rows: Sequence[Job]) -> list[str]:
    """Each reason once, and each cluster is asked about once."""
    clusters = {row.cluster_id: row.cluster for row in rows}
    return sorted({told for cluster in clusters.values() if (told := acts.why_not(actor, cluster, act))})


def _question(act: Act, rows: Sequence[Job]) -> str:
    if not rows:
        return str(act.title)
    if len(rows) == 1:
        return str(act.question).format(job=rows[0].line_label)
    return str(act.many % {"count": len(rows)})


def _results(act: Act, outcomes: Sequence[selections.Outcome], back: str) -> dict[str, object]:
    done = sum(outcome.result.is_done for outcome in outcomes)
    return {"act": act, "outcomes": outcomes, "done": done, "count": len(outcomes), "back": back}


def _act(name: str) -> Act:
    if name not in ACTS:
        raise NotVisible
    return ACTS[name]


def _tell(request: HttpRequest, act: Act, done: Done) -> None:
    messages.success(request, str(act.done).format(job=done.job.label))
    for told in done.differs:
        messages.warning(request, told)


def _back(request: TenantRequest) -> str:
    """The list from which it came, if it is one of this tenant's."""
    jobs = reverse("jobs", args=[_slug(request.actor)])
    target = safe_next(request, request.POST.get("next"))
    return target if urlsplit(target).path.startswith(jobs.removesuffix("jobs/")) else jobs


def _slug(actor: Actor) -> str:
    assert actor.tenant is not None  # noqa: S101  # in_tenant saw to it
    return actor.tenant.slug
