"""Real clusters of each release, made once for each worker that needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.contract.slurmrest import lab
from tests.contract.slurmrest.places import RELEASES


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
