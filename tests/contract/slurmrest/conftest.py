"""Two real clusters of Debian 12's Slurm, once for each worker that needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.contract.slurmrest import lab


@pytest.fixture(scope="session")
def alpha(slurm_release: Callable[[str], lab.SlurmLab]) -> lab.SlurmLab:
    """A real Slurm cluster with two accounts."""
    return slurm_release("bookworm")


@pytest.fixture(scope="session")
def beta() -> Iterator[lab.SlurmLab]:
    """Another tenant's."""
    with lab.slurm_lab(members=1) as cluster:
        yield cluster
