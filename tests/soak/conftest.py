"""The whole-process tests' portal, for longer."""

from __future__ import annotations

from tests.e2e.conftest import browser, hands, new_person, portal

__all__ = ["browser", "hands", "new_person", "portal"]
