"""How the verbs of the audit trail read. Each app adds its own in AppConfig.ready."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.lib.types import Words

_WORDS: dict[str, Words] = {}
_AREAS: dict[str, Words] = {}


def register_verbs(words: Mapping[str, Words], *, areas: Mapping[str, Words] | None = None) -> None:
    """Say how verbs read after a name: {"order.approved": _("approved the order")}, lazily translated.

    `areas` are the things that stand before the dot: {"order": _("orders")}.
    """
    _WORDS.update(words)
    _AREAS.update(areas or {})


def words_of(verb: str) -> str:
    """The verb in words; one that nobody registered reads as it is written."""
    return str(_WORDS.get(verb) or "") or verb.replace(".", " ").replace("_", " ")


def areas() -> list[tuple[str, list[tuple[str, str]]]]:
    """Verbs by area, as the choices of a filter: all of an area, or one of its verbs."""
    found: dict[str, list[tuple[str, str]]] = {}
    for verb, words in sorted(_WORDS.items()):
        area = verb.partition(".")[0]
        everything = _("all: %(area)s") % {"area": _AREAS.get(area, area)}
        found.setdefault(area, [(area, everything)]).append((verb, str(words).rstrip(" :,")))
    return [(str(_AREAS.get(area, area)), verbs) for area, verbs in found.items()]


register_verbs(
    {
        "person.registered": gettext_lazy("signed in for the first time"),
        "person.signed_in": gettext_lazy("signed in"),
        "person.signed_out": gettext_lazy("signed out"),
        "person.suspended": gettext_lazy("suspended the person"),
        "person.resumed": gettext_lazy("let in again the person"),
        "person.shares_address": gettext_lazy("has the e-mail address of another person"),
        "tenant.founded": gettext_lazy("founded the tenant"),
        "tenant.settings_changed": gettext_lazy("changed the settings of"),
        "tenant.suspended": gettext_lazy("suspended the tenant"),
        "tenant.resumed": gettext_lazy("opened again the tenant"),
        "member.role_changed": gettext_lazy("changed the role of"),
        "member.removed": gettext_lazy("removed the member"),
        "member.left": gettext_lazy("left the tenant"),
        "member.suspended": gettext_lazy("suspended the member"),
        "member.resumed": gettext_lazy("resumed the member"),
        "member.access_suspended": gettext_lazy("suspended, at all tenants,"),
        "member.access_resumed": gettext_lazy("let in again, at all tenants,"),
        "invitation.made": gettext_lazy("made the"),
        "invitation.accepted": gettext_lazy("accepted the"),
        "invitation.revoked": gettext_lazy("took back the"),
        "token.created": gettext_lazy("made the API token"),
        "token.revoked": gettext_lazy("revoked the API token"),
        "ssh_keys.changed": gettext_lazy("changed the SSH keys of"),
        "operator.looked": gettext_lazy("looked at"),
        "audit.exported": gettext_lazy("exported the audit trail"),
    },
    areas={
        "person": gettext_lazy("people"),
        "tenant": gettext_lazy("tenants"),
        "member": gettext_lazy("members"),
        "invitation": gettext_lazy("invitations"),
        "token": gettext_lazy("API tokens"),
        "operator": gettext_lazy("visits of operators"),
        "audit": gettext_lazy("audit trail"),
        "ssh_keys": gettext_lazy("SSH keys"),
    },
)
