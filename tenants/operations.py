"""The operators' site and the base of every ModelAdmin: changes only by actions that call services.

Each app registers in its `admin.py`: `@admin.register(Order, site=operations)` on an OperationsAdmin.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite, ModelAdmin, TabularInline
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.lib.errors import NotAllowed
from tenants.actor import NOBODY, Actor
from tenants.looks import note_look
from tenants.scoping import PeopleQuerySet, TenantQuerySet
from tenants.web import ask_to_sign_in

if TYPE_CHECKING:
    _ModelAdmin = ModelAdmin[models.Model]
    _TabularInline = TabularInline[models.Model, models.Model]
else:
    _ModelAdmin = ModelAdmin
    _TabularInline = TabularInline


def actor_of(request: HttpRequest) -> Actor:
    """The operator who asks, acting through the admin. Raises NotAllowed for anyone else."""
    actor: Actor = getattr(request, "actor", NOBODY)
    if not actor.is_operator:
        raise NotAllowed(_("Operations is for the provider's operators."))
    return replace(actor, via="admin")


def badge(status: object, word: object = "") -> str:
    """A status in a changelist, as it looks on every page."""
    return render_to_string("components/badge.html", {"status": status, "word": word})


class Operations(AdminSite):
    """Django's admin for operators only; signing in happens through the identity provider."""

    site_header = gettext_lazy("Operations")
    site_title = gettext_lazy("Operations")
    index_title = gettext_lazy("Operations")
    site_url = None  # an operator who is no member of a tenant has no other page
    enable_nav_sidebar = True

    def has_permission(self, request: HttpRequest) -> bool:
        """Operators; computed at each request from the identity that signed in."""
        return bool(getattr(request, "actor", NOBODY).is_operator)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002
        """There is no form: anonymous people go to the identity provider, others are refused."""
        if getattr(request, "htmx", False):
            return ask_to_sign_in(request)  # a page that asks by itself says so, and goes nowhere
        if getattr(request, "actor", NOBODY).is_signed_in:
            raise NotAllowed(
                _("Operations is for the provider's operators."),
                hint=_("Sign out, then sign in with your operator account."),
            )
        target = request.GET.get("next", request.get_full_path())
        return redirect(f"{reverse('signin')}?{urlencode({'next': target})}")

    def logout(  # type: ignore[override]
        self,
        request: HttpRequest,  # noqa: ARG002
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Sign out is one button for all pages."""
        return redirect("home")

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Where operators begin, with the region that asks for itself again."""
        return super().index(request, {"now": _now(request)[0], **(extra_context or {})})

    def now(self, request: HttpRequest) -> HttpResponse:
        """That region alone; 304 while it would show the same."""
        content, etag = _now(request)
        same = request.headers.get("If-None-Match") == etag
        answer = HttpResponse(status=304) if same else HttpResponse(content)
        answer["ETag"] = etag
        answer["Cache-Control"] = "private, no-store"
        return answer

    def get_urls(self) -> list[Any]:
        """Without the pages for passwords: there are none."""
        urls = [url for url in super().get_urls() if getattr(url, "name", None) not in _NO_PASSWORDS]
        return [path("now/", self.admin_view(self.now), name="now"), *urls]


def _now(request: HttpRequest) -> tuple[str, str]:
    """The region of the first page, and its etag."""
    body = render_to_string("admin/now.html", {"request": request})
    etag = hashlib.sha256(body.encode()).hexdigest()[:16]
    return render_to_string("admin/now_region.html", {"body": body, "etag": etag}), f'"{etag}"'


_NO_PASSWORDS = {"password_change", "password_change_done"}
operations = Operations(name="admin")


class OperationsInline(_TabularInline):
    """Rows of another model below a thing, to look at; set `model`, `fields` and `readonly_fields`."""

    extra = 0
    can_delete = False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Operators look at everything."""
        return bool(getattr(request, "actor", NOBODY).is_operator)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nothing is made here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nothing is edited here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nothing is deleted here."""
        return False


class OperationsAdmin(_ModelAdmin):
    """Lists and shows; changes only by actions that call services with `actor_of(request)`."""

    actions: Any = ()
    list_per_page = 50
    show_full_result_count = False
    notes_looks = True

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[models.Model]:
        """Through the operators' door."""
        rows = self.model._default_manager.all()  # noqa: SLF001  # the name is Django's API
        if not isinstance(rows, TenantQuerySet | PeopleQuerySet):
            raise NotAllowed(_("%(model)s has no door for operators.") % {"model": self.model.__name__})
        visible: models.QuerySet[models.Model] = rows.for_operator(actor_of(request))
        ordering = self.get_ordering(request)
        return visible.order_by(*ordering) if ordering else visible

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:  # noqa: ARG002
        """Operators look at everything."""
        return bool(getattr(request, "actor", NOBODY).is_operator)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As has_view_permission."""
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Nothing is made here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:  # noqa: ARG002
        """Nothing is edited here: changes are commands."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:  # noqa: ARG002
        """Nothing is deleted here."""
        return False

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """One thing. An operator who opens what belongs to a tenant leaves a line in its audit trail."""
        response = super().change_view(request, object_id, form_url, extra_context)
        row = self.get_object(request, object_id) if self.notes_looks and request.method == "GET" else None
        if row is not None and response.status_code == 200:
            note_look(actor=actor_of(request), row=row)
        return response

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Those of this class only: no `delete_selected`, no site-wide ones."""
        return {
            name: entry for name, entry in super().get_actions(request).items() if name != "delete_selected"
        }
