"""Mails by outbox: a row in the transaction of what it tells; a worker sends it, again only where it must.

A mail leaves at most twice: when a worker dies, or the connection breaks, after the server may have taken
it, it is sent once more with the same Message-ID, and never a third time.
"""

from __future__ import annotations

import datetime as dt
import random
import smtplib
import uuid
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import F
from django.template.loader import render_to_string
from django.utils import translation

from portal.lib import clock, crypto
from portal.lib.errors import PermanentError
from portal.lib.mail import one_line
from portal.lib.types import JSONDict, Words
from tenants.models import OutboxMail, User

log = structlog.get_logger(__name__)

CLAIM = dt.timedelta(minutes=2)  # longer than a task may run: who has not ended by then is dead
FIRST_PAUSE = 30.0  # seconds
LONGEST_PAUSE = 3600.0  # seconds
GIVE_UP_AFTER = dt.timedelta(days=3)
KEEP = dt.timedelta(days=90)
MOST_UNCLEAR = 2


def queue_mail(
    *,
    to: str,
    subject: Words,
    template: str,
    context: JSONDict,
    kind: str,
    about_id: uuid.UUID | None = None,
    language: str | None = None,
) -> OutboxMail:
    """Write a mail into the outbox. Needs the open transaction of the command that it tells of.

    `template` is a plain text of templates/mail; it gets `context`, `url` (PUBLIC_URL) and `product`.
    It is written in `language`, else in that of the person known by the address; what the subject and
    the context say in words is lazy therefore (`format_lazy`, `gettext_lazy`).
    """
    assert transaction.get_connection().in_atomic_block  # noqa: S101  # else it could tell what never was
    more = {"url": settings.PUBLIC_URL, "product": settings.PRODUCT_NAME}
    with translation.override(language or _language_of(to)):
        head, body = one_line(str(subject)), render_to_string(template, context | more, using="mail")
    return OutboxMail.objects.create(
        to=to,
        subject=head,
        sealed_body=crypto.seal(body.encode()),
        kind=kind,
        about_id=about_id,
        next_try_at=clock.now(),
    )


def queue_mail_to(person: User, **mail: object) -> OutboxMail | None:
    """As queue_mail, to a person's verified address; nothing for who has none or is suspended."""
    if not (person.is_active and person.email and person.email_verified):
        return None
    return queue_mail(to=person.email, language=person.language or None, **mail)  # type: ignore[arg-type]  # the same keywords


def _language_of(address: str) -> str:
    known = User.objects.filter(email__iexact=address, email_verified=True).exclude(language="")
    return known.values_list("language", flat=True).first() or settings.LANGUAGE_CODE


def take_back_mail(*, about_id: uuid.UUID, why: str) -> None:
    """Do not send what still waits about this; its text is forgotten."""
    waiting = OutboxMail.objects.filter(about_id=about_id, sent_at=None, sealed_body__isnull=False)
    waiting.update(sealed_body=None, last_error=why)


def send_due(*, until: dt.datetime) -> int:
    """Send what is due, one after another, as long as there is time. The number of mails that went out."""
    if not settings.MAIL_IS_SENT:
        return 0
    sent, connection = 0, get_connection()
    try:
        while clock.now() < until and (mail := _claim()) is not None:
            sent += _send(mail, connection)
    finally:
        connection.close()
    return sent


def forget_old() -> None:
    """Remove what was told long ago."""
    OutboxMail.objects.filter(created_at__lt=clock.now() - KEEP).delete()


def stored_mails(most: int) -> list[tuple[OutboxMail, str]]:
    """The newest mails with their texts, as far as these are still there: for the demo's mailbox."""
    rows = OutboxMail.objects.order_by("-created_at", "-pk")[:most]
    return [(row, crypto.unseal(bytes(row.sealed_body)).decode() if row.sealed_body else "") for row in rows]


def _claim() -> OutboxMail | None:
    """The next one that is due, for this worker alone; what another worker holds is passed over."""
    now = clock.now()
    with transaction.atomic():
        due = OutboxMail.objects.select_for_update(skip_locked=True).filter(
            sent_at=None, sealed_body__isnull=False, next_try_at__lte=now
        )
        mail = due.order_by("next_try_at", "pk").first()
        if mail is None:
            return None
        if mail.claimed_at is not None:
            mail.unclear += 1  # a worker died with it
        mail.claimed_at, mail.next_try_at = now, now + CLAIM
        mail.attempts += 1
        mail.save(update_fields=["claimed_at", "next_try_at", "attempts", "unclear"])
    return mail


def _send(mail: OutboxMail, connection: BaseEmailBackend) -> int:
    """One attempt at a claimed mail, and what came of it."""
    if mail.unclear >= MOST_UNCLEAR:
        _give_up(mail, "Nobody knows whether it was sent; it was tried twice.")
        return 0
    try:
        message = _message(mail)
        connection.open()
    except PermanentError as error:
        _give_up(mail, error.message)
        return 0
    except (OSError, smtplib.SMTPException) as error:
        connection.close()
        _try_later(mail, error)
        return 0
    try:
        connection.send_messages([message])
    except (smtplib.SMTPRecipientsRefused, smtplib.SMTPResponseException) as error:
        connection.close()
        if _is_final(error):
            _give_up(mail, _words(error))
        else:
            _try_later(mail, error)
        return 0
    except (OSError, smtplib.SMTPException) as error:
        connection.close()
        _try_later(mail, error, unclear=True)  # it may have arrived
        return 0
    _settle(mail, sent_at=clock.now(), sealed_body=None, last_error="")
    return 1


def _message(mail: OutboxMail) -> EmailMessage:
    """The same at each attempt, so that a mailbox knows a second one for the first."""
    body = crypto.unseal(bytes(mail.sealed_body or b"")).decode()
    host = urlsplit(settings.PUBLIC_URL).hostname
    headers = {
        "Message-ID": f"<{mail.pk.hex}@{host}>",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
    }
    return EmailMessage(subject=mail.subject, body=body, to=[mail.to], headers=headers)


def _is_final(error: smtplib.SMTPException) -> bool:
    """The server will not take this mail, however often it is asked."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    code = error.smtp_code if isinstance(error, smtplib.SMTPResponseException) else 0
    return code >= 500 and not isinstance(error, smtplib.SMTPAuthenticationError | smtplib.SMTPSenderRefused)


def _try_later(mail: OutboxMail, error: Exception, *, unclear: bool = False) -> None:
    if clock.now() > mail.created_at + GIVE_UP_AFTER:
        _give_up(mail, f"Given up after {GIVE_UP_AFTER.days} days. Last: {_words(error)}")
        return
    pause = min(FIRST_PAUSE * 2 ** min(mail.attempts - 1, 12), LONGEST_PAUSE)
    pause *= random.uniform(0.8, 1.2)  # noqa: S311  # no secret
    log.warning("mail not sent", mail=str(mail.pk), error=type(error).__name__, again_in=round(pause))
    _settle(
        mail,
        next_try_at=clock.now() + dt.timedelta(seconds=pause),
        unclear=F("unclear") + int(unclear),
        last_error=_words(error),
    )


def _give_up(mail: OutboxMail, why: str) -> None:
    log.error("mail given up", mail=str(mail.pk), reason=why)
    _settle(mail, sealed_body=None, last_error=why[:300])


def _settle(mail: OutboxMail, **columns: object) -> None:
    """Write the outcome, unless another worker has taken the mail for abandoned meanwhile."""
    OutboxMail.objects.filter(pk=mail.pk, claimed_at=mail.claimed_at).update(claimed_at=None, **columns)


def _words(error: Exception) -> str:
    """Which error it was; a server's own words may repeat what it was sent, so they are left out."""
    code = getattr(error, "smtp_code", "")
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code = ", ".join(str(code) for code, _ in error.recipients.values())
    return f"{type(error).__name__} {code}".strip()[:300]
