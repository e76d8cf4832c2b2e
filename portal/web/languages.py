"""The choice of a language: a cookie for everyone, and on the person, for the mails they get."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST
from django.views.i18n import LANGUAGE_QUERY_PARAMETER, set_language

from tenants.actor import NOBODY
from tenants.services.people import keep_language


@require_POST
def choose(request: HttpRequest) -> HttpResponseBase:
    """Django's own view, which sets the cookie and goes back to `next`."""
    language = request.POST.get(LANGUAGE_QUERY_PARAMETER, "")
    person = getattr(request, "actor", NOBODY).user
    if person is not None and language in dict(settings.LANGUAGES) and check_for_language(language):
        keep_language(person, language)
    return set_language(request)
