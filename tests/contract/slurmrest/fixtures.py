"""One running cluster of each release, made when a test first asks for it; see tests/conftest.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.contract.slurmrest.lab import SlurmLab


@pytest.fixture(scope="session")
def slurm_release() -> Iterator[Callable[[str], SlurmLab]]:
    """Gives the cluster of a release (one of places.RELEASES), the same one for all tests of a worker."""
    from tests.contract.slurmrest.lab import slurm_lab  # noqa: PLC0415

    running: dict[str, SlurmLab] = {}
    with ExitStack() as stack:

        def lab_of(release: str) -> SlurmLab:
            if release not in running:
                running[release] = stack.enter_context(slurm_lab(release=release))
            return running[release]

        yield lab_of


# not everybody may use each of them; with this slurmctld refuses what accounting does not allow
STRICT = """\
AccountingStorageEnforce=associations,limits,qos
PartitionName=closed Nodes=ALL MaxTime=1-0 State=UP AllowAccounts=other
PartitionName=denied Nodes=ALL MaxTime=1-0 State=UP DenyAccounts=research
PartitionName=parent Nodes=ALL MaxTime=1-0 State=UP AllowAccounts=research
PartitionName=short Nodes=ALL MaxTime=10 State=UP
PartitionName=limited Nodes=ALL MaxTime=1-0 State=UP
"""


@pytest.fixture(scope="session")
def strict_release() -> Iterator[Callable[[str], SlurmLab]]:
    """Likewise a cluster with accounting, to which slurmctld holds."""
    from tests.contract.slurmrest.lab import slurm_lab  # noqa: PLC0415

    running: dict[str, SlurmLab] = {}
    with ExitStack() as stack:

        def lab_of(release: str) -> SlurmLab:
            if release not in running:
                made = slurm_lab(release=release, accounting=True, more=STRICT)
                running[release] = stack.enter_context(made)
            return running[release]

        yield lab_of
