"""Reads one section of a site's settings; what does not hold is named by its key."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from portal.lib.errors import PermanentError

NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}")
REGISTRY = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d{1,5})?(/[a-z0-9._-]+)*")
IMAGE = re.compile(
    r"[a-z0-9][a-z0-9.-]*(:\d{1,5})?(/[a-z0-9._-]+)+(:[A-Za-z0-9._-]{1,127})?(@sha256:[0-9a-f]{64})?"
)
QUANTITY = re.compile(r"[1-9]\d{0,8}(Mi|Gi|Ti)")


class Section:
    """A mapping with typed reads. Every read raises PermanentError BadSiteSettings for a wrong value."""

    def __init__(self, name: str, values: Mapping[str, Any], known: Collection[str]) -> None:
        self.name = name
        self._values = values
        for key in sorted(map(str, values)):
            if key not in known:
                raise self.bad(key, "is not known")

    @classmethod
    def of(cls, settings: Mapping[str, Any], name: str, known: Collection[str]) -> Section:
        """The section of that name; one that is missing is empty."""
        values = settings.get(name, {})
        if not isinstance(values, Mapping):
            raise _bad(name, "holds no settings")
        return cls(name, values, known)

    def inner(self, key: str, known: Collection[str]) -> Section | None:
        """A section inside; None if it is not there."""
        values = self._values.get(key)
        if values is None:
            return None
        if not isinstance(values, Mapping):
            raise self.bad(key, "holds no settings")
        return Section(f"{self.name}.{key}", values, known)

    def text(self, key: str, default: str | None = None, *, form: re.Pattern[str] | None = None) -> str:
        """A text of a form; required without a default."""
        value = self._values.get(key, default)
        if value is None:
            raise self.bad(key, "is missing")
        if not isinstance(value, str):
            raise self.bad(key, "is no text")
        if form is not None and value != default and form.fullmatch(value) is None:
            raise self.bad(key, "has not the form that is needed")
        return value

    def one_of(self, key: str, choices: Collection[str], default: str | None = None) -> str:
        """One of a few words."""
        value = self.text(key, default)
        if value not in choices:
            raise self.bad(key, f"is none of {', '.join(sorted(choices))}")
        return value

    def count(self, key: str, default: int, *, least: int = 0, most: int = 1_000_000) -> int:
        """A whole number."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.bad(key, f"is no number from {least} to {most}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.bad(key, "is neither true nor false")
        return value

    def texts(self, key: str, *, form: re.Pattern[str] | None = None) -> tuple[str, ...]:
        """A list of texts of a form; empty if it is not there."""
        values = self._values.get(key, [])
        fits = isinstance(values, list) and all(
            isinstance(one, str) and (form is None or form.fullmatch(one)) for one in values
        )
        if not fits:
            raise self.bad(key, "is no list of texts of the form that is needed")
        return tuple(values)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A mapping that is given on as it is; empty if it is not there."""
        value = self._values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.bad(key, "is no mapping")
        return value

    def url(self, key: str, default: str | None = None, *, schemes: Collection[str] = ("https",)) -> str:
        """An address without user, query or fragment."""
        value = self.text(key, default)
        if value == default:
            return value
        parts = urlsplit(value)
        if (
            parts.scheme not in schemes
            or not parts.hostname
            or parts.username
            or parts.query
            or parts.fragment
        ):
            raise self.bad(key, f"is no address that begins with {' or '.join(schemes)}")
        return value.rstrip("/")

    def bad(self, key: str, why: str) -> PermanentError:
        """The refusal of one key."""
        return _bad(f"{self.name}.{key}", why)


def _bad(place: str, why: str) -> PermanentError:
    return PermanentError(
        "BadSiteSettings",
        f"The site's setting {place} {why}.",
        hint="Correct the settings of the site; nothing was changed outside.",
    )
