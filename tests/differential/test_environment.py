"""A job finds the same environment whether sbatch or Freehold handed it in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import case
from tests.contract.slurmrest.lab import SlurmLab, until
from tests.contract.slurmrest.places import RELEASES
from tests.differential import both, known

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("parity")]

LINES = [
    "--ntasks=2 --cpus-per-task=2",
    "--nodes=2 --ntasks-per-node=2 --distribution=cyclic",
    "--gpus=2 --open-mode=append",
    "--gpus-per-node=1 --mem=500",
    "--ntasks=2 --gpus-per-task=1",
    "--export=ALL --comment=none",
    "--threads-per-core=1 --ntasks-per-core=1 --nodes=1",
]
PRINT = """#!/bin/bash
#SBATCH {}
#SBATCH --output=/dev/null
env -0 >"$SLURM_JOB_ID.part"
mv "$SLURM_JOB_ID".{{part,env}}
"""


@case("U07")
@pytest.mark.parametrize("release", RELEASES)
def test_scripts_run_in_the_same_environment(parity_lab: Callable[[str], SlurmLab], release: str) -> None:
    lab = parity_lab(release)
    scripts = {f"e{index}.sh": PRINT.format(line) for index, line in enumerate(LINES)}
    theirs = both.by_sbatch(lab, scripts, both.variables_of(lab))
    ours = both.by_freehold(lab, scripts)
    for name, script in scripts.items():
        assert not theirs[name].refused + ours[name].refused
        their, our = (environment_of(lab, one.job_id) for one in (theirs[name], ours[name]))
        assert our.keys() >= {"SLURM_SUBMIT_DIR", "SLURM_JOB_ID", "PATH"}
        assert told(their) == told(our), script


def environment_of(lab: SlurmLab, job_id: int) -> dict[str, str]:
    """What the job printed, once it did."""
    path = Path(lab.home()) / f"{job_id}.env"
    until(path.exists, what=f"the environment of job {job_id} on {lab.release}")
    return dict(one.partition("=")[::2] for one in path.read_text().split("\0") if one)


def told(environment: dict[str, str]) -> dict[str, str]:
    """Without what may differ."""
    return {
        name: value
        for name, value in environment.items()
        if name not in {*known.VARIABLES, "TZ"} and not name.startswith(known.LIMITS)
    }
