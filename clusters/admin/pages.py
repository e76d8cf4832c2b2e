"""The base of operators' pages of one thing stands in tenants, below all that use it."""

from __future__ import annotations

from tenants.pages import PageAdmin, Verb

__all__ = ["PageAdmin", "Verb"]
