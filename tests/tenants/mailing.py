"""What the tests of mails share: mails put into the outbox, and a server to send them through."""

from __future__ import annotations

import datetime as dt

import time_machine
from django.db import transaction
from pytest_django.fixtures import Settings

from portal.lib import clock
from portal.lib.mail import mail_settings
from tenants.models import OutboxMail
from tenants.services import outbox


def use(settings: Settings, url: str) -> None:
    found = mail_settings(url)
    settings.MAIL_IS_SENT = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = found["host"], found["port"]
    settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = found["starttls"], found["ssl"]


def put(to: str = "rui@example.org", subject: str = "Hello", count: int = 1) -> OutboxMail:
    with transaction.atomic():
        for _ in range(count):
            mail = outbox.queue_mail(
                to=to,
                subject=subject,
                template="order.txt",
                context={"what": "It is done."},
                kind="test",
            )
    return mail


def send() -> int:
    return outbox.send_due(until=clock.now() + dt.timedelta(seconds=20))


def later(**delta: float) -> time_machine.travel:
    return time_machine.travel(clock.now() + dt.timedelta(**delta), tick=True)
