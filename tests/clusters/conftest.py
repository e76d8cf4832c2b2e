"""What the tests of clusters share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenants.models import Tenant
from tests.builders import make_tenant
from tests.clusters import fakes


@pytest.fixture
def world(tmp_path: Path) -> Iterator[fakes.World]:
    """An empty outside for sites with the fake driver."""
    yield fakes.install(tmp_path)
    fakes.uninstall()


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()
