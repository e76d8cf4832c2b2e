"""Pages of the demo alone: its mails, to read in the browser, and its terms of use."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from portal.lib.errors import NotVisible
from tenants.services.outbox import stored_mails

MOST = 50


@never_cache
@require_safe
def mailbox(request: HttpRequest) -> HttpResponse:
    """Everybody's: in the demo anyone may sign in as anyone."""
    if settings.MODE != "demo":
        raise NotVisible
    context = {"mails": stored_mails(MOST), "is_sent": settings.MAIL_IS_SENT}
    return render(request, "tenants/mailbox.html", context)


@require_safe
def terms(request: HttpRequest) -> HttpResponse:
    """What one accepts in the demo; a provider's own terms stand at TERMS_URL."""
    if settings.MODE != "demo":
        raise NotVisible
    return render(request, "tenants/demo_terms.html")
