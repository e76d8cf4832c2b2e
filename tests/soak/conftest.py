"""The whole-process tests' portal, for longer."""

from __future__ import annotations

from tests.e2e.conftest import hands, portal

__all__ = ["hands", "portal"]
