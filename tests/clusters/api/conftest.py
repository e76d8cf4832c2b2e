"""Tests of the API are about Ada's tenant."""

from __future__ import annotations

from tests.cast import tenant  # noqa: F401  # fixtures are found by their names
