"""What every console does on real daemons: the same queue as by REST, and acts as the account that asks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.clients.slurm_console.console import SlurmConsole, Unreadable
from clusters.clients.slurm_console.lines import QueueLine, parse
from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import SubmitRequest
from tests.cases import case
from tests.contract.slurmrest.lab import SlurmLab, until
from tests.jobs.names import ODD_NAMES

SLEEP = "#!/bin/bash\nsleep 300\n"
Consoles = Callable[[int], SlurmConsole]  # as a member of the lab


def submit(lab: SlurmLab, member: int = 0, **fields: object) -> int:
    """A job that sleeps."""
    request = SubmitRequest(
        script=SLEEP,
        environment={"PATH": "/usr/bin:/bin"},
        working_directory=str(lab.home(member)),
        **fields,  # type: ignore[arg-type]
    )
    return lab.gateway(member).submit(request).job_id


def lines(console: SlurmConsole) -> dict[int, QueueLine]:
    """The queue by job."""
    return {line.job_id: line for line in map(parse, console.queue())}


def state(lab: SlurmLab, job_id: int) -> str:
    """As REST says."""
    return lab.gateway().job(job_id)[0].state


class ConsoleContract:
    """A subclass's module gives the fixtures `lab` and `consoles`."""

    @case("U03")
    def test_the_queue_is_what_rest_says(self, lab: SlurmLab, consoles: Consoles) -> None:
        made = [
            submit(lab, name=name, comment=f"of {name} [fh:abcdefghij23]", hold=True) for name in ODD_NAMES
        ]
        array = submit(lab, name="array", array="1-9%2", hold=True)
        found = lines(consoles(0))
        listing = lab.gateway().jobs()
        assert listing is not None
        records = {int(record.job_id): record for record in listing.jobs}
        assert found.keys() == records.keys() >= {*made, array}
        for number in (*made, array):
            line, record = found[number], records[number]
            for name in ("name", "comment", "state", "reason", "partition", "user_name", "submit_time"):
                assert getattr(line, name) == getattr(record, name), name
            assert (line.array_job_id, line.array_task_id, line.array_task_string) == (
                record.array_job_id,
                record.array_task_id,
                record.array_task_string,
            )
            assert (line.time_limit, line.node_count, line.cpus) == (
                record.time_limit,
                record.node_count,
                record.cpus,
            )

    def test_a_member_requeues_own_jobs_and_no_others(self, lab: SlurmLab, consoles: Consoles) -> None:
        mine = submit(lab)
        until(lambda: state(lab, mine) == "RUNNING", what="it runs")
        with pytest.raises(errors.NotPermitted):
            consoles(1).requeue(str(mine))
        assert state(lab, mine) == "RUNNING"
        consoles(0).requeue(str(mine))
        assert lab.gateway().job(mine)[0].restarts == 1
        with pytest.raises(errors.UnknownJob):
            consoles(0).requeue("99999")

    @case("U12")
    def test_one_task_of_an_array_is_meant_alone(self, lab: SlurmLab, consoles: Consoles) -> None:
        array = submit(lab, array="1-3")

        def runs() -> bool:
            return [record.state for record in lab.gateway().job(array)].count("RUNNING") == 3

        until(runs, what="all tasks run")
        consoles(0).requeue(f"{array}_2")
        found = {record.array_task_id: record.restarts for record in lab.gateway().job(array)}
        assert found == {1: 0, 2: 1, 3: 0}

    @pytest.mark.parametrize("verb", ["suspend", "resume", "top"])
    def test_what_only_operators_may_is_refused_to_members(
        self, lab: SlurmLab, consoles: Consoles, verb: str
    ) -> None:
        job = submit(lab, hold=True)
        before = lab.gateway().job(job)
        with pytest.raises((errors.SlurmRefused, Unreadable)):
            getattr(consoles(0), verb)(str(job))
        assert lab.gateway().job(job) == before

    @pytest.mark.parametrize("job", ["1; reboot", "12_[1-3]", "--help", "", "1 2", "٣"])
    def test_what_is_no_job_is_never_asked_for(self, consoles: Consoles, job: str) -> None:
        with pytest.raises(ValueError, match="named by its number"):
            consoles(0).requeue(job)
