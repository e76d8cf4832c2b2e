"""What the tests of jobs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.provisioning.registry import FACTORIES
from tests.clusters import fakes


@pytest.fixture(autouse=True)
def world(tmp_path: Path) -> Iterator[fakes.World]:
    """A site with the fake driver, so that clusters can be ordered."""
    yield fakes.install(tmp_path)
    FACTORIES.pop(fakes.DRIVER, None)
