"""A person's own API tokens within a tenant."""

from __future__ import annotations

import datetime as dt
import uuid

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from portal.lib import clock, crypto
from portal.lib.errors import BadInput
from portal.lib.types import JSONDict
from tenants.forms import TokenForm, show
from tenants.models import ApiToken
from tenants.scopes import useful_scopes
from tenants.scoping import get_visible
from tenants.services import tokens as service
from tenants.web import TenantRequest, in_tenant

SHOWN_ONCE = "new_api_token"  # sealed in the session until the next page has shown it


@never_cache
@require_safe
@in_tenant
def tokens(request: TenantRequest) -> HttpResponse:
    """The list; the first time after a token was made also its text."""
    sealed = request.session.pop(SHOWN_ONCE, None)
    context: JSONDict = {
        "tokens": [(token, service.state_of(token)) for token in service.own_tokens(request.actor)[:100]],
        "secret": crypto.unseal(sealed.encode()).decode() if sealed else "",
        "example": f"{settings.PUBLIC_URL}/api/v1/t/{_slug(request)}/jobs/",
    }
    return render(request, "tenants/tokens.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def token_new(request: TenantRequest) -> HttpResponse:
    """Make a token; the list shows its text once."""
    form = TokenForm(useful_scopes(request.actor.role or ""), request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            _, secret = service.create_token(
                actor=request.actor,
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                expires_at=clock.now() + dt.timedelta(days=form.cleaned_data["days"]),
            )
        except BadInput as error:
            show(error, form)
        else:
            request.session[SHOWN_ONCE] = crypto.seal(secret.encode()).decode()
            return redirect("tokens", _slug(request))
    return render(request, "tenants/token_new.html", {"form": form}, status=400 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def token_revoke(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Make one useless; a GET asks first."""
    found = get_visible(ApiToken.objects.all(), request.actor, pk)
    if request.method != "POST":
        service.require_revocable(actor=request.actor, token=found)
        return render(request, "tenants/token_revoke.html", {"token": found})
    service.revoke_token(actor=request.actor, token=found)
    messages.success(request, _("The token %(name)s is revoked.") % {"name": found.name})
    return redirect("tokens", _slug(request))


def _slug(request: TenantRequest) -> str:
    assert request.actor.tenant is not None  # noqa: S101  # the door has set it
    return request.actor.tenant.slug
