"""Signing in through the identity provider, coming back from it, and signing out of both."""

from __future__ import annotations

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from portal.lib.errors import FreeholdError, NotAllowed
from tenants.services.people import keep_language, sign_in_person, sign_out_person
from tenants.signin import provider
from tenants.signin.session import HINT_KEY, IDENTITY_KEY, SID_KEY
from tenants.web import TenantRequest, safe_next

log = structlog.get_logger(__name__)
BACKEND = "tenants.signin.backend.IdentityBackend"
ATTEMPT_AGE = 3600  # seconds that a session without a person lives


@never_cache
@require_GET
def signin(request: TenantRequest) -> HttpResponse:
    """On to the provider; someone who is signed in already just goes on."""
    then = safe_next(request, request.GET.get("next"))
    if request.actor.is_signed_in:
        return redirect(then)
    try:
        target = provider.start(request, redirect_uri=_absolute("callback"), then=then, name=_which(then))
    except FreeholdError as error:
        return _failed(request, error, then)
    request.session.set_expiry(ATTEMPT_AGE)
    return redirect(target)


@never_cache
@require_GET
def callback(request: TenantRequest) -> HttpResponse:
    """Back from the provider: a session for the person, or a page from which to start again."""
    then = "/"
    try:
        claims, wanted = provider.finish(request)
        then = safe_next(request, wanted)
        identity = sign_in_person(actor=request.actor, claims=claims)
    except FreeholdError as error:
        return _failed(request, error, then)
    keep_language(identity.user, get_language())
    login(request, identity.user, backend=BACKEND)  # with a new session key
    request.session.set_expiry(None)
    request.session[IDENTITY_KEY] = identity.pk
    request.session[SID_KEY] = claims.sid
    request.session[HINT_KEY] = claims.id_token
    return redirect(then)


@never_cache
@require_POST
def signout(request: TenantRequest) -> HttpResponse:
    """End our session, then the provider's, which sends the person back to the first page."""
    hint, identity, target = request.session.get(HINT_KEY), request.actor.identity, None
    if identity is not None:
        sign_out_person(actor=request.actor)
    logout(request)
    if hint and identity is not None:
        back = f"{settings.PUBLIC_URL}/"
        target = provider.end_session_url(hint, issuer=identity.issuer, back_to=back)
    if target is None:
        messages.info(request, _("You are signed out."))
    return redirect(target or "home")


def _which(then: str) -> str:
    """Who goes to Operations signs in at the operators' issuer, where there is one."""
    to_operations = bool(settings.OPERATOR_ISSUER) and then.startswith(reverse("admin:index"))
    return provider.OPERATORS if to_operations else provider.CUSTOMERS


def _absolute(name: str) -> str:
    return settings.PUBLIC_URL + reverse(name)


def _failed(request: HttpRequest, error: FreeholdError, then: str) -> HttpResponse:
    log.info("sign-in not finished", reason=getattr(error, "reason", type(error).__name__))
    context = {"error": error, "next": then, "refused": isinstance(error, NotAllowed)}
    return render(request, "tenants/signin_failed.html", context, status=error.status)
