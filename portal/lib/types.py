"""Shared aliases: JSON edges (no other module uses Any for them), and words that may be translated later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Words: TypeAlias = str | _StrPromise  # a text, or one of gettext_lazy
else:
    Words = str

JSONDict: TypeAlias = dict[str, Any]
