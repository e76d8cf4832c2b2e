"""What srun starts within a script is told by real accounting as steps, with how each of them ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.clients.slurmrest.accounting import RestAccounting
from clusters.clients.slurmrest.models import ExitCode
from clusters.clients.slurmrest.past import PastStep
from tests.contract.slurmrest.lab import SlurmLab, until
from tests.contract.slurmrest.places import RELEASES

pytestmark = pytest.mark.slow
SCRIPT = '#!/bin/sh\nsrun --ntasks=1 --job-name=first true\nsrun --ntasks=2 sh -c "exit 5"\nexit 3\n'


@pytest.mark.parametrize(
    "release", [pytest.param(name, marks=pytest.mark.xdist_group(f"slurm {name}")) for name in RELEASES]
)
def test_each_srun_is_a_step(release: str, strict_release: Callable[[str], SlurmLab]) -> None:
    lab = strict_release(release)
    member = lab.members[0].name
    submit = ["sbatch", "--parsable", "--ntasks=2", "--output=/dev/null"]
    number = int(lab.run(submit, member=0, cwd=lab.home(), text=SCRIPT).stdout)
    found: dict[str, PastStep] = {}

    def are_told() -> bool:
        books = RestAccounting(lab.url, lab.versions[0], member, lambda: lab.token(member))
        found.update((step.step, step) for job in books.job(number) for step in job.steps)
        return found.keys() == {"batch", "0", "1"} and found["batch"].state == "FAILED"

    until(are_told, seconds=60, what="accounting tells the steps")
    tells = release != "bookworm"  # v0.0.38 says 0 of any that failed
    assert [
        (found[step].state, found[step].tasks, found[step].exit_code) for step in ("batch", "0", "1")
    ] == [
        ("FAILED", 1, ExitCode(status=3) if tells else None),
        ("COMPLETED", 1, ExitCode(status=0)),
        ("FAILED", 2, ExitCode(status=5) if tells else None),
    ]
    assert found["0"].name == "first"
