"""Shared aliases for JSON edges; no other module uses Any for them."""

from __future__ import annotations

from typing import Any, TypeAlias

JSONDict: TypeAlias = dict[str, Any]
