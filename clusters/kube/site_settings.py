"""Reads one section of a site's settings; what is wrong is told by its key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
HTTPS = re.compile(r"https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?")


class Section:
    """One section. Every look raises PermanentError BadSiteSettings, which names the key."""

    def __init__(self, settings: Mapping[str, Any], name: str, known: Iterable[str]) -> None:
        self.name = name
        found = settings.get(name)
        if not isinstance(found, Mapping):
            raise bad(name, "is missing")
        self._found = found
        if unknown := sorted({str(key) for key in found} - set(known)):
            raise self.bad(unknown[0], "is not known")

    def bad(self, key: str, why: str) -> PermanentError:
        """The refusal of one key."""
        return bad(f"{self.name}.{key}", why)

    def get(self, key: str, default: Any = None) -> Any:
        """As it stands there."""
        return self._found.get(key, default)

    def text(self, key: str, pattern: re.Pattern[str], what: str, default: str | None = None) -> str:
        """A text of this form; without a default it must be there. An empty default may stay empty."""
        value = self.get(key, default)
        if isinstance(value, str) and (pattern.fullmatch(value) or (default == "" and not value)):
            return value
        raise self.bad(key, what)

    def choice(self, key: str, choices: Iterable[str], default: str) -> str:
        """One of some words."""
        value, known = self.get(key, default), sorted(choices)
        if value not in known:
            raise self.bad(key, f"is none of {', '.join(known)}")
        return str(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.bad(key, "is neither true nor false")
        return value

    def number(self, key: str, default: int, *, least: int, most: int) -> int:
        """A whole number between two."""
        value = self.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.bad(key, f"is no number from {least} to {most}")
        return value

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Names to whatever stands there; empty where the key is absent."""
        value = self.get(key, {})
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise self.bad(key, "maps no names to values")
        return value

    def address(self, key: str, *, default: str | None = None) -> str:
        """An https address, which may hold {cluster} and {tenant}."""
        value = self.get(key, default)
        if value == "" == default:
            return ""
        # {cluster} and {tenant} are the only places: what is left of others is no part of an address
        plain = value.replace("{cluster}", "c").replace("{tenant}", "t") if isinstance(value, str) else ""
        if HTTPS.fullmatch(plain) is None:
            raise self.bad(key, "is no plain https address, in which {cluster} and {tenant} may stand")
        return str(value).rstrip("/")


def filled(pattern: str, spec: ClusterSpec) -> str:
    """A pattern of a site with the cluster's own names, all of which are ours: none is a person's text."""
    return pattern.replace("{cluster}", spec.name).replace("{tenant}", spec.tenant)


def bad(place: str, why: str) -> PermanentError:
    """The refusal of a site's setting."""
    return PermanentError(
        "BadSiteSettings",
        f"The site's setting {place} {why}.",
        hint="Correct the settings of the site; nothing was changed outside.",
    )
