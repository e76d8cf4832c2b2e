"""The audit trail over all tenants: filters, pages that follow the key, export."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.lib.errors import BadInput, NotVisible
from tenants.facts import KINDS, facts_of, thing_of, way_of
from tenants.models import AuditEvent, Tenant
from tenants.operations import OperationsAdmin, actor_of, operations
from tenants.trail import Rows, page_of
from tenants.trail_web import TrailForm, export


@admin.register(AuditEvent, site=operations)
class AuditAdmin(OperationsAdmin):
    """Who did what. The list is ours: Django's counts all rows and pages by offset."""

    list_select_related = ("tenant",)
    ordering = ("-id",)
    fields = (
        ("at", "verb"),
        ("actor_label", "kind", "way", "address"),
        "tenant",
        ("thing", "target_id"),
        "facts",
        "request_id",
    )
    readonly_fields = ("kind", "way", "thing", "facts")
    notes_looks = False

    @admin.display(description=gettext_lazy("kind of actor"))
    def kind(self, row: AuditEvent) -> str:
        """In words."""
        return str(KINDS.get(row.actor_kind, row.actor_kind))

    @admin.display(description=gettext_lazy("way"))
    def way(self, row: AuditEvent) -> str:
        """In words."""
        return way_of(row)

    @admin.display(description=gettext_lazy("thing"))
    def thing(self, row: AuditEvent) -> str:
        """As it was called then."""
        return thing_of(row)

    @admin.display(description=gettext_lazy("details"))
    def facts(self, row: AuditEvent) -> str:
        """In words; the export has them as they were written."""
        return "; ".join(f"{name}: {fact}" for name, fact in facts_of(row))

    def get_urls(self) -> list[Any]:
        """With the address of the export."""
        take = path("export/", self.admin_site.admin_view(self.export), name="tenants_auditevent_export")
        return [take, *super().get_urls()]

    def changelist_view(
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002  # the signature is Django's
    ) -> HttpResponse:
        """The newest events that fit, and the way to older ones."""
        form = TrailForm(request.GET, for_operator=True)
        asked = form.filter()
        before = request.GET.get("before", "")
        page = page_of(asked.of(self._rows(request)), before)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Audit events"),
            "opts": self.opts,
            "events": page.events,
            "older": page.older,
            "is_first": not before,
            "form": form,
            "asked": asked.facts(),
            "show_tenant": True,
        }
        status = 400 if form.errors else 200
        return render(request, "admin/tenants/trail.html", context, status=status)

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """What fits, as a file. In the trail of the tenant that was asked for, else in the operators' own."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        form = TrailForm(request.POST, for_operator=True)
        asked = form.filter()
        if form.errors:
            raise BadInput(fields={name: " ".join(map(str, told)) for name, told in form.errors.items()})
        actor = actor_of(request)
        tenant = None
        if asked.tenant:
            tenant = Tenant.objects.for_operator(actor).filter(slug=asked.tenant).first()
            if tenant is None:
                raise NotVisible(_("There is no tenant %(tenant)s.") % {"tenant": asked.tenant})
        return export(request, actor=actor, tenant=tenant, rows=self._rows(request), asked=asked)

    def _rows(self, request: HttpRequest) -> Rows:
        return AuditEvent.objects.select_related("tenant").for_operator(actor_of(request))
