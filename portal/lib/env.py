"""Reads configuration from environment variables; `NAME_FILE` names a file that holds the value."""

from __future__ import annotations

import os
from pathlib import Path


class MissingSetting(RuntimeError):
    """A variable that must be set is not."""


def text(name: str, default: str | None = None) -> str:
    """The value of NAME, or the content of the file that NAME_FILE names."""
    if path := os.environ.get(f"{name}_FILE"):
        return Path(path).read_text(encoding="utf-8").strip()
    value = os.environ.get(name, default)
    if value is None:
        raise MissingSetting(f"Set the environment variable {name} (or {name}_FILE).")
    return value


def flag(name: str, *, default: bool = False) -> bool:
    """True for 1, true, yes, on."""
    return text(name, str(default)).lower() in {"1", "true", "yes", "on"}


def number(name: str, default: int) -> int:
    """An integer, with a clear error that names the variable."""
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError as error:
        raise MissingSetting(f"{name} must be a whole number, not {value!r}.") from error


def words(name: str, default: str = "") -> list[str]:
    """A list separated by commas; spaces around the items are dropped."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]
