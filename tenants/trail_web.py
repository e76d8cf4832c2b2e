"""What the audit pages of members and operators share: the filters' form, and the answer that streams."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, QueryDict, StreamingHttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants.actor import Actor
from tenants.audit import areas
from tenants.commands import command
from tenants.models import Tenant
from tenants.trail import Filter, Rows, file_name, in_async, newest_of, stream

LONGEST = 100
TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/x-ndjson"}


def _day() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class TrailForm(forms.Form):
    """The filters, as they stand in the address."""

    q = forms.CharField(label=gettext_lazy("Name, thing or verb"), max_length=LONGEST, required=False)
    who = forms.CharField(label=gettext_lazy("Who"), max_length=LONGEST, required=False)
    verb = forms.ChoiceField(label=gettext_lazy("Did"), required=False)
    target = forms.CharField(label=gettext_lazy("Thing or its id"), max_length=LONGEST, required=False)
    tenant = forms.SlugField(label=gettext_lazy("Tenant"), max_length=40, required=False)
    since = forms.DateField(
        label=gettext_lazy("From"),
        required=False,
        widget=_day(),
    )
    until = forms.DateField(
        label=gettext_lazy("To"),
        required=False,
        widget=_day(),
    )

    def __init__(self, data: QueryDict, *, for_operator: bool = False) -> None:
        super().__init__(data)
        verb: Any = self.fields["verb"]
        verb.choices = [("", _("anything")), *areas()]
        if not for_operator:
            del self.fields["tenant"]
        for field in self.fields.values():
            field.widget.attrs.setdefault("class", "input")

    def clean(self) -> dict[str, Any]:
        """Days in their order."""
        found: dict[str, Any] = super().clean() or {}
        since, until = found.get("since"), found.get("until")
        if since and until and until < since:
            self.add_error("until", _("The last day lies before the first."))
        return found

    def filter(self) -> Filter:
        """What was asked for; fields with errors ask for nothing."""
        self.full_clean()
        return Filter(**{name: value for name, value in self.cleaned_data.items() if value})


def export(
    request: HttpRequest, *, actor: Actor, tenant: Tenant | None, rows: Rows, asked: Filter
) -> StreamingHttpResponse:
    """The rows that fit as a file that streams. That is itself recorded, before the first byte."""
    form = "json" if request.POST.get("format") == "json" else "csv"
    found = asked.of(rows)
    up_to = newest_of(found)
    detail = {"form": form, "up_to": up_to, **asked.facts()}
    with command("audit.exported", actor=actor, tenant=tenant, target=tenant, detail=detail):
        pass
    chunks = stream(found, form, up_to=up_to)
    response = StreamingHttpResponse(
        in_async(chunks) if isinstance(request, ASGIRequest) else chunks, content_type=TYPES[form]
    )
    name = file_name(tenant.slug if tenant else "all", form)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response
