"""Reads bodies into typed wire structs, and Slurm's ways to write "no number" into ours."""

from __future__ import annotations

import json
from typing import Final, TypeAlias, TypeVar

import msgspec

from clusters.clients.slurmrest.errors import BadAnswer, ErrorEntry, extract
from clusters.clients.slurmrest.models import UNLIMITED, Limit

T = TypeVar("T")

NOT_SET: Final = frozenset({2**32 - 2, 2**64 - 2, -2})
INFINITE: Final = frozenset({2**32 - 1, 2**64 - 1, -1})


class NumberObject(msgspec.Struct):
    """An optional number from v0.0.39 on."""

    set: bool = False
    infinite: bool = False
    number: int | float | None = None


WireNumber: TypeAlias = int | float | NumberObject | None


class Envelope(msgspec.Struct):
    """What every answer may hold beside its result; a missing key counts as empty."""

    errors: list[ErrorEntry] | None = None
    warnings: list[ErrorEntry] | None = None


def number(value: WireNumber) -> Limit:
    """An int, None for "not set" or UNLIMITED, from any of the forms that Slurm uses."""
    if isinstance(value, NumberObject):
        if value.infinite:
            return UNLIMITED
        return number(value.number) if value.set else None
    if value is None or value in NOT_SET:
        return None
    return UNLIMITED if value in INFINITE else int(value)


def count(value: WireNumber, default: int = 0) -> int:
    """A plain number where neither "not set" nor "unlimited" makes sense."""
    read = number(value)
    return read if isinstance(read, int) else default


def moment(value: WireNumber) -> int | None:
    """Epoch seconds; 0 is "no estimate" and not 1970."""
    return count(value) or None


def decode(body: bytes, kind: type[T]) -> T:
    """The body as a wire struct. Raises BadAnswer, never anything else.

    What slurmrestd passes through from its users (bytes that are not UTF-8, NUL, lone surrogates) and
    the bare words NaN and Infinity are mended, so that one odd job does not hide a whole queue.
    """
    if b"\\u0000" in body:  # no database keeps it
        body = body.replace(b"\\u0000", b"\\ufffd")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise _unusable(body, str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_mended(body, kind)


def _decode_mended(body: bytes, kind: type[T]) -> T:
    try:
        loose = json.loads(body.decode("utf-8", "replace"), parse_constant=_constant)
        mended = json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(mended, type=kind)
    except (ValueError, RecursionError) as error:
        raise _unusable(body, "not JSON") from error


def _constant(word: str) -> int | None:
    return 2**32 - 1 if word == "Infinity" else None


def _unusable(body: bytes, why: str) -> BadAnswer:
    return BadAnswer(
        "The cluster's Slurm API gave an answer that cannot be read.", f"{why[:200]}: {extract(body[:400])}"
    )
