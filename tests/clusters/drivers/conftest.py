"""A lab per test; whatever a test leaves behind is removed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clusters.drivers.lab import Lab, open_lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A data folder with the local drivers on it."""
    opened = open_lab()
    yield opened
    opened.close()
