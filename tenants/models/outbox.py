"""Mails that are to go out: written in the transaction of what they tell, sent by a worker afterwards."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from tenants.scoping import PeopleQuerySet


class OutboxMail(models.Model):
    """One mail to one address. The text may hold a link: it is sealed, and kept only until it is sent.

    Waiting: it has a text and no `sent_at`. Without both it was taken back or given up, as `last_error` says.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(
        gettext_lazy("kind"), max_length=40, help_text=gettext_lazy("What it tells, e.g. order.approved.")
    )
    about_id = models.UUIDField(
        gettext_lazy("about"),
        null=True,
        help_text=gettext_lazy("Of the order or invitation that it tells of."),
    )
    to = models.EmailField(gettext_lazy("recipient"), max_length=254)
    subject = models.CharField(gettext_lazy("subject"), max_length=200)
    sealed_body = models.BinaryField(
        null=True, help_text=gettext_lazy("Plain text, sealed with portal.lib.crypto.")
    )
    created_at = models.DateTimeField(gettext_lazy("written"), auto_now_add=True)
    next_try_at = models.DateTimeField(gettext_lazy("next attempt"))
    attempts = models.PositiveIntegerField(gettext_lazy("attempts"), default=0)
    claimed_at = models.DateTimeField(
        gettext_lazy("claimed"),
        null=True,
        help_text=gettext_lazy("A worker is sending it, or died while it did."),
    )
    unclear = models.PositiveIntegerField(
        gettext_lazy("unclear attempts"),
        default=0,
        help_text=gettext_lazy("Attempts of which the outcome was never known."),
    )
    sent_at = models.DateTimeField(gettext_lazy("sent"), null=True, blank=True)
    last_error = models.CharField(gettext_lazy("last error"), max_length=300, blank=True)

    objects = PeopleQuerySet.as_manager()

    class Meta:
        verbose_name = gettext_lazy("mail")
        verbose_name_plural = gettext_lazy("mails")
        indexes = [
            models.Index(
                fields=["next_try_at"],
                name="mail_to_send",
                condition=Q(sent_at=None, sealed_body__isnull=False),
            ),
            models.Index(fields=["about_id"], name="mail_about"),
        ]

    def __str__(self) -> str:
        return self.subject

    @property
    def state(self) -> str:
        """sent, waiting or ended, as badges say it."""
        if self.sent_at is not None:
            return "sent"
        return "waiting" if self.sealed_body is not None else "ended"
