"""The doors of views: `@in_tenant` for /t/<slug>/, `@signed_in` outside, and what a request then holds.

    @require_safe
    @in_tenant
    def order(request: TenantRequest, pk: UUID) -> HttpResponse:
        row = get_visible(Order.objects.all(), request.actor, pk)

The decorator takes `tenant` out of the arguments: the view finds it in `request.actor.tenant`.

A GET runs in one read-only snapshot of the database: what the page shows and the versions of its live
regions belong together, and PostgreSQL itself refuses a GET that changes something.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import urlencode, urlsplit

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from tenants.actor import Actor

LONGEST_NEXT = 2000
View: TypeAlias = Callable[..., HttpResponseBase]


class TenantRequest(HttpRequest):
    """A request of a signed-in person; for types only, Django makes the object."""

    actor: Actor
    request_id: str
    htmx: HtmxDetails


def in_tenant(view: View) -> View:
    """Only for members of the tenant in the address, read afresh; 404 for everyone else."""

    @functools.wraps(view)
    def inner(request: Any, *args: Any, tenant: str, **kwargs: Any) -> HttpResponseBase:
        if not request.actor.is_signed_in:
            return ask_to_sign_in(request)
        request.actor = request.actor.within(tenant)
        with reading(request):
            return view(request, *args, **kwargs)

    inner.door = "tenant"  # type: ignore[attr-defined]  # the architecture tests look for it
    return inner


def signed_in(view: View) -> View:
    """For every signed-in person, outside a tenant."""

    @functools.wraps(view)
    def inner(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.actor.is_signed_in:
            return ask_to_sign_in(request)
        with reading(request):
            return view(request, *args, **kwargs)

    inner.door = "person"  # type: ignore[attr-defined]
    return inner


@contextmanager
def reading(request: HttpRequest) -> Iterator[None]:
    """One read-only snapshot around a GET; nothing around a POST, whose commands have their own."""
    if request.method not in {"GET", "HEAD"}:
        yield
        return
    inside = connection.in_atomic_block  # a test's transaction has looked already: too late for a snapshot
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET TRANSACTION {'' if inside else 'ISOLATION LEVEL REPEATABLE READ, '}READ ONLY"
            )
        yield
        transaction.set_rollback(True)


def ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """The sign-in page, and back here afterwards.

    For a form that was sent after the session ended: a page that says that nothing was done, with the
    status 401, which the script shows as a banner above the form that is still there.
    """
    if request.method in {"GET", "HEAD"} and not getattr(request, "htmx", False):
        return redirect(
            f"{reverse('signin')}?{urlencode({'next': safe_next(request, request.get_full_path())})}"
        )
    came_from = urlsplit(request.headers.get("Referer", ""))
    back = f"{came_from.path}?{came_from.query}" if came_from.query else came_from.path
    context = {"next": safe_next(request, back) if came_from.netloc == request.get_host() else "/"}
    return render(request, "tenants/session_ended.html", context, status=401)


def safe_next(request: HttpRequest, target: str | None) -> str:
    """The address inside this portal to go on to; home for anything else, too long or in a circle."""
    if not target or len(target) > LONGEST_NEXT or not target.startswith("/"):
        return "/"
    if not url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return "/"
    circles = tuple(reverse(name) for name in ("signin", "callback", "signout"))
    return "/" if target.startswith(circles) else target
