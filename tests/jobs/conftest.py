"""What the tests of jobs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.models import Cluster
from tenants.models import Role, Tenant, User
from tests.builders import make_member, make_tenant
from tests.clusters import fakes
from tests.jobs.builders import make_slurm_cluster
from tests.jobs.fakes import FakeSlurm, install


@pytest.fixture(autouse=True)
def world(tmp_path: Path) -> Iterator[fakes.World]:
    """A site with the fake driver, so that clusters can be ordered."""
    yield fakes.install(tmp_path)
    fakes.uninstall()


@pytest.fixture
def tenant() -> Tenant:
    """Whose people and jobs a test is about."""
    return make_tenant("Aurora Lab")


@pytest.fixture
def alice(tenant: Tenant) -> User:
    """A researcher."""
    return make_member(tenant, Role.MEMBER)


@pytest.fixture
def cluster(tenant: Tenant, alice: User) -> Cluster:  # alice has her account in it
    """Ready and seen a moment ago."""
    return make_slurm_cluster(tenant)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """A Slurm without daemons."""
    return install(monkeypatch)
