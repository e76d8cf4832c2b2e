"""Housekeeping."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings
from django.contrib.sessions.models import Session

from portal.lib import clock


@shared_task(name="tenants.clear_sessions")  # type: ignore[untyped-decorator]
def clear_sessions() -> None:
    """Remove sessions that have ended; each begun sign-in leaves one."""
    assert settings.SESSION_ENGINE.endswith(".db")  # noqa: S101  # others clear themselves
    Session.objects.filter(expire_date__lt=clock.now()).delete()
