"""Two real clusters, once for each worker that needs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.slurmrest import lab


@pytest.fixture(scope="session")
def alpha() -> Iterator[lab.SlurmLab]:
    """A real Slurm cluster with two accounts."""
    with lab.slurm_lab() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def beta() -> Iterator[lab.SlurmLab]:
    """Another tenant's."""
    with lab.slurm_lab(members=1) as cluster:
        yield cluster
