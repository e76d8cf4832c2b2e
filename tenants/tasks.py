"""Housekeeping, and the mails that are due."""

from __future__ import annotations

import datetime as dt

from celery import shared_task
from django.conf import settings
from django.contrib.sessions.models import Session

from portal.lib import clock
from tenants.services import outbox

SENDING = dt.timedelta(seconds=25)  # then the next one, within the limit of a task


@shared_task(name="tenants.clear_sessions")  # type: ignore[untyped-decorator]
def clear_sessions() -> None:
    """Remove sessions that have ended (each begun sign-in leaves one), and mails of long ago."""
    outbox.forget_old()
    assert settings.SESSION_ENGINE.endswith(".db")  # noqa: S101  # others clear themselves
    Session.objects.filter(expire_date__lt=clock.now()).delete()


@shared_task(name="tenants.send_outbox")  # type: ignore[untyped-decorator]
def send_outbox() -> None:
    """Send the mails that are due; what this one leaves, the next one finds."""
    outbox.send_due(until=clock.now() + SENDING)
