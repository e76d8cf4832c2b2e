"""How the verbs of the audit trail read. Each app adds its own in AppConfig.ready."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS: dict[str, str] = {}


def register_verbs(words: Mapping[str, str]) -> None:
    """Say how verbs read after a name: {"order.approved": "approved the order"}."""
    _WORDS.update(words)


def words_of(verb: str) -> str:
    """The verb in words; one that nobody registered reads as it is written."""
    return _WORDS.get(verb) or verb.replace(".", " ").replace("_", " ")


def areas() -> list[tuple[str, list[tuple[str, str]]]]:
    """Verbs by area, as the choices of a filter: all of an area, or one of its verbs."""
    found: dict[str, list[tuple[str, str]]] = {}
    for verb, words in sorted(_WORDS.items()):
        area = verb.partition(".")[0]
        found.setdefault(area, [(area, f"anything about: {area}")]).append((verb, words.rstrip(" :,")))
    return list(found.items())


register_verbs(
    {
        "person.registered": "signed in for the first time",
        "person.signed_in": "signed in",
        "person.signed_out": "signed out",
        "person.suspended": "suspended the person",
        "person.resumed": "let in again the person",
        "person.shares_address": "has the e-mail address of another person",
        "tenant.founded": "founded the tenant",
        "tenant.settings_changed": "changed the settings of",
        "tenant.suspended": "suspended the tenant",
        "tenant.resumed": "opened again the tenant",
        "member.role_changed": "changed the role of",
        "member.removed": "removed the member",
        "member.left": "left the tenant",
        "member.suspended": "suspended the member",
        "member.resumed": "resumed the member",
        "member.access_suspended": "suspended, at all tenants,",
        "member.access_resumed": "let in again, at all tenants,",
        "invitation.made": "made the",
        "invitation.accepted": "accepted the",
        "invitation.revoked": "took back the",
        "token.created": "made the API token",
        "token.revoked": "revoked the API token",
        "operator.looked": "looked at",
        "audit.exported": "exported the audit trail",
    }
)
