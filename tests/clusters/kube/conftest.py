"""A scripted API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters.kube.script import Script


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    """Answers what the test says."""
    one = Script(tmp_path)
    yield one
    one.close()
