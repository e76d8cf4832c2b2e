"""One real cluster of each release, with licences and features, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.contract.slurmrest.lab import SlurmLab, slurm_lab

MORE = "Licenses=matlab:4,fluent:10\nAllowSpecResourcesUsage=yes\n"


@pytest.fixture(scope="session")
def parity_lab() -> Iterator[Callable[[str], SlurmLab]]:
    """The cluster of a release (one of places.RELEASES)."""
    running: dict[str, SlurmLab] = {}
    with ExitStack() as stack:

        def lab_of(release: str) -> SlurmLab:
            if release not in running:
                lab = stack.enter_context(slurm_lab(release=release, members=1, more=MORE))
                for index, features in ((1, "fast,amd"), (2, "fast,intel")):
                    node = f"NodeName={lab.name}-n{index}"
                    lab.command("scontrol", "update", node, f"AvailableFeatures={features}")
                # job 1, for those that wait for it; of root, so that it stays when the member's are cancelled
                lab.command("sbatch", "--hold", "--wrap=true")
                running[release] = lab
            return running[release]

        yield lab_of
