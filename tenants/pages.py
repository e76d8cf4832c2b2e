"""The base of operators' pages of one thing: our own template, and verbs that are POSTs to services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import path

from portal.lib.errors import BadInput, NotVisible, WrongState
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.looks import note_look
from tenants.operations import OperationsAdmin, actor_of

# Does one thing to a row, with what was sent; its answer is what the operator is told.
Verb = Callable[[Actor, Any, Mapping[str, str]], str]


class PageAdmin(OperationsAdmin):
    """Lists as usual; one thing is `page` with `page_context`; `verbs` are its buttons."""

    page: str
    verbs: Mapping[str, Verb] = {}

    def get_urls(self) -> list[Any]:
        """With one address for the verbs of a row."""
        meta = self.opts
        do = path(
            "<uuid:pk>/do/<slug:verb>/",
            self.admin_site.admin_view(self.do),
            name=f"{meta.app_label}_{meta.model_name}_do",
        )
        return [do, *super().get_urls()]

    def page_context(self, actor: Actor, row: Any) -> JSONDict:
        """What the page shows beside the row itself."""
        raise NotImplementedError

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",  # noqa: ARG002  # the signature is Django's
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """The page. Looking changes nothing but the tenant's audit trail, which says that somebody looked."""
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        actor = actor_of(request)
        row = self.get_object(request, object_id)
        if row is None:
            raise NotVisible
        if self.notes_looks:
            note_look(actor=actor, row=row)
        return self._show(request, actor, row)

    def do(self, request: HttpRequest, pk: UUID, verb: str) -> HttpResponse:
        """One button. What is refused is told on the page, which shows things as they are then."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        actor = actor_of(request)
        row = self.get_object(request, str(pk))
        if row is None or verb not in self.verbs:
            raise NotVisible
        try:
            messages.success(request, self.verbs[verb](actor, row, request.POST.dict()))
        except WrongState as error:
            messages.warning(request, f"{error.message} {error.hint}".strip())
        except BadInput as error:
            messages.error(request, " ".join(error.fields.values()) or error.message)
            return self._show(request, actor, row, note=str(request.POST.get("note", "")), status=400)
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", row.pk)

    def _show(
        self, request: HttpRequest, actor: Actor, row: Any, *, note: str = "", status: int = 200
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": str(row),
            "opts": self.opts,
            "row": row,
            "note": note,
            **self.page_context(actor, row),
        }
        return render(request, self.page, context, status=status)
