"""What a provider says about a person, made plain: nothing is believed that is not exactly so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

LONGEST_NAME = 200
LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Claims:
    """Of a checked ID token. The address is lower-risk text: shown, compared, never a key."""

    issuer: str
    subject: str
    name: str = ""
    email: str = ""
    email_verified: bool = False
    sid: str = ""
    id_token: str = ""


def claims_from(token: Mapping[str, object], more: Mapping[str, object], *, id_token: str) -> Claims:
    """Join the token's claims with userinfo's. Raises ValueError for a subject that cannot be a key.

    The address is verified only if the source that names it says so with a real `true`, and no other
    source names a different one.
    """
    subject = token.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_KEY or not subject.isprintable():
        raise ValueError("the subject is not a printable text of at most 255 characters")
    own, other = _address(token), _address(more)
    source = token if own else more
    verified = source.get("email_verified", more.get("email_verified")) is True
    if own and other and own.lower() != other.lower():
        verified = False
    return Claims(
        issuer=str(token["iss"]),
        subject=subject,
        name=_name(token) or _name(more),
        email=own or other,
        email_verified=verified and bool(own or other),
        sid=str(token.get("sid") or "")[:LONGEST_KEY],
        id_token=id_token,
    )


def _address(source: Mapping[str, object]) -> str:
    email = source.get("email")
    if not isinstance(email, str) or len(email) > 254:
        return ""
    try:
        validate_email(email.strip())
    except ValidationError:
        return ""
    return email.strip()


def _name(source: Mapping[str, object]) -> str:
    for key in ("name", "preferred_username"):
        value = source.get(key)
        if isinstance(value, str) and value.strip():
            return "".join(letter for letter in value.strip() if letter.isprintable())[:LONGEST_NAME]
    return ""


def clean_domain(text: str) -> str:
    """A domain as people type it (`@Example.com `), made comparable."""
    return text.strip().lstrip("@").strip().rstrip(".").lower()


def is_of_domain(email: str, domains: list[str]) -> bool:
    """True if the address ends in exactly one of these domains; a sub-domain must be listed itself."""
    return "@" in email and email.rpartition("@")[2].lower() in {clean_domain(domain) for domain in domains}
