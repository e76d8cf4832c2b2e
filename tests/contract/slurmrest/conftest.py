"""Real clusters of each release: what one is used for is one group, so that each is made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from clusters.clients.slurmrest.client import RestGateway
from tests.contract.slurmrest import lab
from tests.contract.slurmrest.places import RELEASES


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests of a release share a worker."""
    if case := getattr(item, "callspec", None):
        release = case.params.get("alpha") or case.params.get("release")
        if release in RELEASES:
            item.add_marker(pytest.mark.xdist_group(f"slurm {release}"))


@pytest.fixture(scope="session", params=RELEASES)
def alpha(request: pytest.FixtureRequest, slurm_release: Callable[[str], lab.SlurmLab]) -> lab.SlurmLab:
    """A real Slurm cluster with two accounts."""
    release: str = request.param
    return slurm_release(release)


@pytest.fixture(scope="session")
def beta() -> Iterator[lab.SlurmLab]:
    """Another tenant's, of Debian 12's Slurm."""
    with lab.slurm_lab(members=1) as cluster:
        yield cluster


@pytest.fixture
def speakers(alpha: lab.SlurmLab) -> Iterator[list[tuple[str, RestGateway]]]:
    """A gateway of each version, and no job left afterwards."""
    yield [(version, alpha.gateway(version=version)) for version in alpha.versions]
    alpha.run(["scancel", "--user", alpha.members[0].name])
