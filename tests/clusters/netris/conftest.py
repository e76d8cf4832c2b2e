"""A controller, and a step that speaks to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.clients.netris.client import NetrisClient
from clusters.clients.netris.session import Login, Session
from clusters.drivers.netris import FabricStep
from portal.lib.http import Outside
from tests.clusters.netris.server import USER, FakeNetris, running
from tests.clusters.netris.subject import settings_for


@pytest.fixture
def netris(tmp_path: Path) -> Iterator[FakeNetris]:
    """A controller without clusters."""
    with running(tmp_path) as server:
        yield server


@pytest.fixture
def client(netris: FakeNetris) -> NetrisClient:
    """A client that has not logged in yet."""
    outside = Outside(netris.url, authorities=netris.authorities, timeout=5)
    return NetrisClient(Session(outside, Login(USER, netris.password)))


@pytest.fixture
def step(netris: FakeNetris) -> FabricStep:
    """The step of a site with two ACLs, one of which would cut clusters off from themselves."""
    return FabricStep(settings_for(netris))
