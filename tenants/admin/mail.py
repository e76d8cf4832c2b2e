"""The outbox: what went out, what waits and why. Texts are not shown: they hold links."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from tenants.audit import words_of
from tenants.models import OutboxMail
from tenants.operations import OperationsAdmin, badge, operations


@admin.register(OutboxMail, site=operations)
class MailAdmin(OperationsAdmin):
    """Mails, the newest first."""

    list_display = ("created_at", "to", "subject", "about", "status", "attempts", "last_error")
    search_fields = ("to", "subject", "kind", "about_id")
    search_help_text = _("Address, subject, id of the order or invitation")
    ordering = ("-created_at", "-id")
    fields = (
        ("about", "about_id"),
        ("to", "subject"),
        ("created_at", "sent_at", "next_try_at"),
        ("attempts", "unclear", "last_error"),
    )

    readonly_fields = ("about",)

    @admin.display(description=_("what it tells"), ordering="kind")
    def about(self, row: OutboxMail) -> str:
        """In words, as in the audit trail."""
        return str(_("invitation")) if row.kind == "invitation" else words_of(row.kind)

    @admin.display(description=_("State"))
    def status(self, row: OutboxMail) -> str:
        """sent, waiting or ended, as everywhere."""
        return badge(row.state, _("Given up or taken back") if row.state == "ended" else "")
