"""The new job form, what it would send, and the submit."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs import places
from jobs.job_templates import service as job_templates
from jobs.mine import usable_clusters
from jobs.models import Submission
from jobs.observer.pace import note_watched
from jobs.parsing.refusal import Refusal
from jobs.parsing.script import parse_upload
from jobs.rules import judging, start
from jobs.rules.view import rules_of
from jobs.services import accounts, describe, requests, submissions
from jobs.services.amounts import amounts_of
from jobs.services.capacity import ClusterView, view_of
from jobs.services.drafts import GIVEN, DraftRefused, Typed, read_draft
from jobs.web.forms import MAIN, MORE, JobForm
from portal.lib.errors import BadInput, OutsideError, WrongState
from portal.lib.types import JSONDict, Words
from tenants.rights import Action, may, require
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

_LINES_SHOWN = 200


@require_safe
@in_tenant
def job_start(request: TenantRequest) -> HttpResponse:
    """The way to the form: which cluster, where there is a choice."""
    require(request.actor, Action.SUBMIT_JOB)
    clusters = usable_clusters(request.actor)
    if len(clusters) == 1:
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        return redirect(reverse("job-new", args=[_slug(request), clusters[0].pk]) + query)
    return render(
        request, "jobs/start.html", {"clusters": clusters, "nowhere": places.nowhere(request.actor)}
    )


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def job_new(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """GET: the form. POST: submit, or with `check` only show what would be sent."""
    cluster = get_visible(Cluster.objects.select_related("tenant"), request.actor, pk, Action.SUBMIT_JOB)
    require_slurm(cluster)
    view = view_of(cluster)
    if request.method != "POST":
        identity = accounts.identity_of(request.actor, cluster)  # says why not before anything is typed
        note_watched([cluster.pk])
        form = JobForm(view, initial=_initial(request), rules=rules_of(cluster, identity.name))
        return _page(request, cluster, view, form)
    form = JobForm(view, request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, cluster, view, form.renewed(), status=400)
    typed = form.typed()
    if "check" in request.POST or request.headers.get("HX-Target") == "preview":
        return _check(request, cluster, view, form, typed)
    return send(request, cluster, view, form, typed)


def send(
    request: TenantRequest, cluster: Cluster, view: ClusterView, form: JobForm, typed: Typed
) -> HttpResponse:
    """Submit what a valid form holds; what stands against it is shown in the form, with what was typed."""
    try:
        made = submissions.submit_job(
            actor=request.actor, cluster=cluster, typed=typed, key=form.cleaned_data["key"]
        )
    except BadInput as error:
        form.add_problems(error.fields or {"": error.message})
        lines = error.lines if isinstance(error, DraftRefused) else ()
        marked = _marked(typed, {problem.line for problem in lines})
        form = form.renewed(script=_text_of(typed))
        context = {"script_lines": marked, "may_insist": getattr(error, "may_insist", False)}
        return _page(request, cluster, view, form, context, status=400)
    except (WrongState, OutsideError) as error:
        form = form.renewed(script=_text_of(typed))
        return _page(request, cluster, view, form, {"not_sent": error}, status=error.status)
    return arrived(made)


def arrived(made: Submission) -> HttpResponse:
    """On to the job; of an array or a set to all of it, since the page of one job shows one task."""
    if made.job_id is None:
        return redirect("submission", made.tenant.slug, made.pk)
    is_group = not made.request.keys().isdisjoint({"array", "components"})
    return redirect("job-tasks" if is_group else "job", made.tenant.slug, made.job_id)


def _check(
    request: TenantRequest, cluster: Cluster, view: ClusterView, form: JobForm, typed: Typed
) -> HttpResponse:
    """What would be sent, or what speaks against it. Nothing is stored and the key stays good."""
    rules = accounts.rules_for(request.actor, cluster)
    context: JSONDict = {"rules": rules}
    try:
        draft = read_draft(typed, view, rules)
    except DraftRefused as error:
        context |= {"problems": _named(error.fields), "lines": error.lines, "may_insist": error.may_insist}
        if not request.htmx:
            form.add_problems(error.fields)
            context["script_lines"] = _marked(typed, {problem.line for problem in error.lines})
    else:
        context |= {
            "preview": describe.of_draft(draft, view),
            "notes": draft.notes,
            "amounts": amounts_of(draft, view),
            "shows_money": may(request.actor, Action.ORDER),
            "outlook": start.outlook_of(request.actor, cluster, view, draft.partitions),
            "budgets": judging.left_for(draft.values, view, rules) if rules else (),
        }
    if request.htmx:
        return render(request, "jobs/new.html#preview", context | {"view": view, "form": form})
    if typed.upload is not None:
        form = form.renewed(script=_text_of(typed))
    return _page(request, cluster, view, form, context, status=200 if "preview" in context else 400)


def _page(
    request: HttpRequest,
    cluster: Cluster,
    view: ClusterView,
    form: JobForm,
    context: JSONDict | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    page = {
        "cluster": cluster,
        "view": view,
        "form": form,
        "templates": job_templates.built_in(),
        **(context or {}),
    }
    return render(request, "jobs/new.html", page, status=status)


def _initial(request: TenantRequest) -> JSONDict:
    """A new key, and the texts of a built-in template or of an own job that is to be changed."""
    initial: JSONDict = {"key": uuid.uuid4()}
    if again := request.GET.get("from"):
        return initial | _again(request, again)
    chosen = job_templates.choose(request.actor, request.GET.get("template", ""))
    if chosen is None:
        return initial | {"script": "#!/bin/bash\n\n"}
    given = request.GET.items()
    answers = {name.removeprefix("p."): str(value) for name, value in given if name.startswith("p.")}
    return initial | job_templates.filled(chosen, answers)


def _again(request: TenantRequest, key: str) -> JSONDict:
    made = get_visible(Submission.objects.filter(user=request.actor.user), request.actor, key)
    own = requests.own_environment(made)
    return {
        **texts_of(made),
        "script": made.script,
        "environment": "\n".join(f"{name}={value}" for name, value in own.items()),
    }


def texts_of(made: Submission) -> dict[str, str]:
    """What was typed into fields of the form, as text."""
    typed = {name: made.request[name] for name in (*MAIN, *MORE) if made.origins.get(name) in GIVEN}
    return {name: describe.as_typed(name, value) for name, value in typed.items()}


def _text_of(typed: Typed) -> str | None:
    """The uploaded script as text, so that it stays; None: what was typed stays by itself."""
    if typed.upload is None:
        return None
    try:
        return parse_upload(typed.upload).text
    except Refusal:
        return None


def _marked(typed: Typed, wrong: set[int]) -> list[tuple[str, bool]]:
    """The script's first lines with those that are wrong marked; empty if none is or it is long."""
    text = (_text_of(typed) or typed.script).replace("\r\n", "\n")
    lines = text.split("\n")
    if not wrong or max(wrong) > _LINES_SHOWN:
        return []
    return [(line, number in wrong) for number, line in enumerate(lines[: max(wrong) + 3], start=1)]


def _named(problems: dict[str, str]) -> list[tuple[Words, str]]:
    labels = describe.LABELS | {"script": _("Script"), "upload": _("File"), "environment": _("Environment")}
    return [(labels.get(name, ""), message) for name, message in problems.items()]


def _slug(request: TenantRequest) -> str:
    assert request.actor.tenant is not None  # noqa: S101  # in_tenant saw to it
    return request.actor.tenant.slug
