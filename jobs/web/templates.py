"""Templates: the list, one with its parameters and versions, and what makes, changes and deletes them."""

from __future__ import annotations

import uuid
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.job_templates import parameters, service
from jobs.job_templates.models import JobTemplate
from jobs.job_templates.service import Chosen, Content
from jobs.models import Submission
from jobs.web.forms import MAIN, MORE
from jobs.web.submit import texts_of
from portal.lib.errors import BadInput, NotVisible
from tenants.actor import Actor
from tenants.rights import Action, may, require
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

_FIELDS = (*MAIN, *MORE)


class TemplateForm(forms.Form):
    """What a template says."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=service.LONGEST_NAME)
    text = forms.CharField(
        label=gettext_lazy("What it is for"), max_length=service.LONGEST_TEXT, required=False
    )
    script = forms.CharField(
        label=gettext_lazy("Script"),
        strip=False,
        widget=forms.Textarea(
            attrs={"class": "code", "rows": 18, "spellcheck": "false", "wrap": "off", "data-editor": True}
        ),
        help_text=gettext_lazy("Write {{name}} where the value of a parameter belongs, #SBATCH lines too."),
    )
    parameters = forms.CharField(
        label=gettext_lazy("Parameters"),
        required=False,
        widget=forms.Textarea(
            attrs={
                "class": "code",
                "rows": 4,
                "spellcheck": "false",
                "placeholder": gettext_lazy("model | Model | 7b | 7b, 13b, 70b"),
            }
        ),
        help_text=gettext_lazy(
            "One a line: name | label | default | choices. After a whole number as default only numbers fit."
        ),
    )
    shared = forms.BooleanField(
        label=gettext_lazy("For everyone in the tenant"),
        required=False,
        help_text=gettext_lazy("Owners and admins change it then."),
    )


class ParameterForm(forms.Form):
    """A field for each parameter of a template."""

    def __init__(self, chosen: Chosen, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for one in chosen.content.parameters:
            if one.kind == "choice":
                choices = [(choice, choice) for choice in one.choices]
                field: forms.Field = forms.ChoiceField(choices=choices)
            else:
                number = {"inputmode": "numeric"} if one.kind == "number" else {}
                widget = forms.TextInput(attrs={"autocomplete": "off", **number})
                field = forms.CharField(max_length=parameters.LONGEST_VALUE, widget=widget)
            field.label, field.initial, field.required = str(one.label), one.default, not one.default
            self.fields[one.name] = field


@require_http_methods(["GET", "HEAD"])
@in_tenant
def templates(request: TenantRequest) -> HttpResponse:
    """All that this member can begin with."""
    rows = list(service.visible(request.actor))
    context = {
        "mine": [row for row in rows if row.owner_id is not None],
        "shared": [row for row in rows if row.owner_id is None],
        "built_in": service.built_in(),
        "may_submit": may(request.actor, Action.SUBMIT_JOB),
    }
    return render(request, "jobs/templates.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def template_new(request: TenantRequest) -> HttpResponse:
    """A new one: empty, or with what an own job (`from`) or another template (`like`) says."""
    require(request.actor, Action.SUBMIT_JOB)
    actor = request.actor
    start = _start(request)
    form = TemplateForm(request.POST if request.method == "POST" else None, initial=_initial(start))
    if not may(actor, Action.ACT_ON_ANY_JOB):
        del form.fields["shared"]
    if form.is_bound and form.is_valid():
        try:
            made = service.create(
                actor=actor,
                name=form.cleaned_data["name"],
                text=form.cleaned_data["text"],
                content=_content(form, start),
                shared=form.cleaned_data.get("shared", False),
            )
        except BadInput as error:
            _add(form, error)
        else:
            messages.success(request, _("%(name)s is kept.") % {"name": made.name})
            return redirect("template", _slug(actor), made.pk)
    context = {"form": form, "kept_fields": _kept(start), "query": request.GET.urlencode()}
    return render(request, "jobs/template_edit.html", context, status=400 if form.errors else 200)


@require_safe
@in_tenant
def template(request: TenantRequest, key: str) -> HttpResponse:
    """One, with a form of its parameters; `version` shows what an older one said."""
    row = _row(request.actor, key)
    chosen = _chosen(request.actor, key)
    if row is None:
        return _page(request, chosen, None, ParameterForm(chosen))
    number = request.GET.get("version", "")
    shown = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else row.version
    content = service.content_of(service.version_of(row, shown))
    chosen = Chosen(chosen.key, chosen.title, chosen.text, content)
    return _page(request, chosen, row, ParameterForm(chosen), shown=shown)


def _page(
    request: TenantRequest,
    chosen: Chosen,
    row: JobTemplate | None,
    form: ParameterForm,
    *,
    shown: int | None = None,
) -> HttpResponse:
    """One template; `shown` is the version, the newest by default."""
    actor = request.actor
    newest = row.version if row else None
    context = {
        "chosen": chosen,
        "row": row,
        "form": form,
        "versions": row.versions.select_related("created_by").order_by("-number")[:50] if row else (),
        "shown": shown or newest,
        "is_newest": shown in {None, newest},
        "unfilled": [
            f"{{{{{name}}}}}"
            for name in parameters.unfilled(chosen.content.script, chosen.content.parameters)
        ],
        "may_change": row is not None and service.may_change(actor, row),
        "may_submit": may(actor, Action.SUBMIT_JOB),
    }
    return render(request, "jobs/template.html", context, status=400 if form.errors else 200)


@require_POST
@in_tenant
def template_use(request: TenantRequest, key: str) -> HttpResponse:
    """On to the new job form, with the answers in its address."""
    actor = request.actor
    require(actor, Action.SUBMIT_JOB)
    chosen = _chosen(actor, key)
    form = ParameterForm(chosen, request.POST)
    form.full_clean()
    answers = {one.name: request.POST.get(one.name, "") for one in chosen.content.parameters}
    try:
        service.filled(chosen, answers)
    except BadInput as error:
        _add(form, error)
        return _page(request, chosen, _row(actor, key), form)
    service.note_use(actor, chosen)
    query = {"template": chosen.key} | {f"p.{name}": value for name, value in answers.items() if value}
    return redirect(f"{reverse('job-start', args=[_slug(actor)])}?{urlencode(query)}")


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def template_edit(request: TenantRequest, key: str) -> HttpResponse:
    """Change one: a new version, where script or parameters differ."""
    actor = request.actor
    row = _row(actor, key)
    if row is None:
        raise NotVisible
    service.require_editor(actor, row)
    before = service.content_of(service.version_of(row))
    start = Chosen(key, row.name, row.text, before)
    form = TemplateForm(request.POST if request.method == "POST" else None, initial=_initial(start))
    del form.fields["shared"]
    if form.is_bound and form.is_valid():
        try:
            made = service.change(
                actor=actor,
                template=row,
                name=form.cleaned_data["name"],
                text=form.cleaned_data["text"],
                content=_content(form, start),
            )
        except BadInput as error:
            _add(form, error)
        else:
            told = _("Kept as version %(number)d.") % {"number": made.version}
            messages.success(request, told)
            return redirect("template", _slug(actor), made.pk)
    context = {"form": form, "row": row, "kept_fields": _kept(start)}
    return render(request, "jobs/template_edit.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def template_delete(request: TenantRequest, key: str) -> HttpResponse:
    """Forget one, after a question."""
    row = _row(request.actor, key)
    if row is None:
        raise NotVisible
    service.require_editor(request.actor, row)
    if request.method != "POST":
        return render(request, "jobs/template_delete.html", {"row": row})
    service.delete(actor=request.actor, template=row)
    messages.success(request, _("The template %(name)s is deleted.") % {"name": row.name})
    return redirect("templates", _slug(request.actor))


def _chosen(actor: Actor, key: str) -> Chosen:
    found = service.choose(actor, key)
    if found is None:
        raise NotVisible
    return found


def _row(actor: Actor, key: str) -> JobTemplate | None:
    """The kept one; None for a built-in. Raises NotVisible for what is neither."""
    try:
        return service.template_of(actor, uuid.UUID(key))
    except ValueError:
        return None


def _start(request: TenantRequest) -> Chosen:
    if again := request.GET.get("from"):
        made = get_visible(Submission.objects.filter(user=request.actor.user), request.actor, again)
        fields = texts_of(made)
        name = str(made.request.get("name") or "")
        return Chosen("", name, "", Content(made.script, fields=fields))
    if like := request.GET.get("like"):
        return _chosen(request.actor, like)
    return Chosen("", "", "", Content("#!/bin/bash\n\n"))


def _initial(start: Chosen) -> dict[str, str]:
    return {
        "name": str(start.title),
        "text": str(start.text),
        "script": start.content.script,
        "parameters": parameters.write(start.content.parameters),
    }


def _content(form: TemplateForm, start: Chosen) -> Content:
    lines = form.cleaned_data["parameters"].splitlines()
    asked = parameters.parse(lines, start.content.parameters)
    return Content(form.cleaned_data["script"], asked, start.content.fields)


def _kept(start: Chosen) -> list[tuple[str, str]]:
    """What stands in fields of the form, for a template that was made of a job."""
    return [(name, value) for name, value in start.content.fields.items() if value and name in _FIELDS]


def _add(form: forms.Form, error: BadInput) -> None:
    for name, told in error.fields.items():
        form.add_error(name if name in form.fields else None, told)


def _slug(actor: Actor) -> str:
    assert actor.tenant is not None  # noqa: S101  # in_tenant saw to it
    return actor.tenant.slug
