"""The local console against real daemons: the same queue as by REST, and acts as the account that asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusters.clients.slurm_console import local
from clusters.clients.slurm_console.console import NoTools, Unreadable
from clusters.clients.slurm_console.lines import QueueLine, parse
from clusters.clients.slurm_console.local import Controller, LocalConsole
from clusters.clients.slurmrest import errors, tokens
from clusters.clients.slurmrest.models import SubmitRequest
from portal.lib.errors import OutsideError
from tests.cases import case
from tests.contract.slurmrest.lab import SlurmLab, slurm_lab, until
from tests.jobs.names import ODD_NAMES

pytestmark = pytest.mark.slow
SLEEP = "#!/bin/bash\nsleep 300\n"


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab() as running:
        yield running


def console(
    lab: SlurmLab, member: int = 0, *, key: bytes | None = None, port: int | None = None
) -> LocalConsole:
    account = lab.members[member].name
    where = Controller(lab.name, "127.0.0.1", port or lab.port + 1)
    return LocalConsole(where, account, lambda: tokens.mint(account, key or lab.key), 4.0)


def submit(lab: SlurmLab, member: int = 0, **fields: object) -> int:
    request = SubmitRequest(
        script=SLEEP,
        environment={"PATH": "/usr/bin:/bin"},
        working_directory=str(lab.home(member)),
        **fields,  # type: ignore[arg-type]
    )
    return lab.gateway(member).submit(request).job_id


def lines(lab: SlurmLab) -> dict[int, QueueLine]:
    return {line.job_id: line for line in map(parse, console(lab).queue())}


def state(lab: SlurmLab, job_id: int) -> str:
    return lab.gateway().job(job_id)[0].state


@case("U03")
def test_the_queue_is_what_rest_says(lab: SlurmLab) -> None:
    made = [submit(lab, name=name, comment=f"of {name} [fh:abcdefghij23]", hold=True) for name in ODD_NAMES]
    array = submit(lab, name="array", array="1-9%2", hold=True)
    found = lines(lab)
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


def test_a_member_requeues_own_jobs_and_no_others(lab: SlurmLab) -> None:
    mine = submit(lab)
    until(lambda: state(lab, mine) == "RUNNING", what="it runs")
    with pytest.raises(errors.NotPermitted):
        console(lab, 1).requeue(str(mine))
    assert state(lab, mine) == "RUNNING"
    console(lab).requeue(str(mine))
    assert lab.gateway().job(mine)[0].restarts == 1
    with pytest.raises(errors.UnknownJob):
        console(lab).requeue("99999")


@case("U12")
def test_one_task_of_an_array_is_meant_alone(lab: SlurmLab) -> None:
    array = submit(lab, array="1-3")

    def runs() -> bool:
        return [record.state for record in lab.gateway().job(array)].count("RUNNING") == 3

    until(runs, what="all tasks run")
    console(lab).requeue(f"{array}_2")
    found = {record.array_task_id: record.restarts for record in lab.gateway().job(array)}
    assert found == {1: 0, 2: 1, 3: 0}


@pytest.mark.parametrize("verb", ["suspend", "resume", "top"])
def test_what_only_operators_may_is_refused_to_members(lab: SlurmLab, verb: str) -> None:
    job = submit(lab, hold=True)
    before = lab.gateway().job(job)
    with pytest.raises((errors.SlurmRefused, Unreadable)):
        getattr(console(lab), verb)(str(job))
    assert lab.gateway().job(job) == before


@pytest.mark.parametrize("act", [lambda one: one.requeue("1"), lambda one: list(one.queue())])
def test_nothing_is_believed_of_a_silent_controller(
    lab: SlurmLab, act: Callable[[LocalConsole], object]
) -> None:
    strange = console(lab, key=b"x" * 32), console(lab, port=lab.port + 5)
    for one in strange:
        with pytest.raises((errors.NotReachable, errors.Unclear, errors.TokenRefused)):
            act(one)
    with lab.without_controller():
        began = time.monotonic()
        with pytest.raises((errors.NotReachable, errors.Unclear)):
            act(console(lab))
        assert time.monotonic() - began < 6


def test_a_tool_that_hangs_is_ended_and_one_that_is_missing_is_named(
    lab: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = lab.members[0].name
    one = LocalConsole(Controller(lab.name, "127.0.0.1", lab.port + 1), account, lambda: "token", 0.5)
    monkeypatch.setattr(local, "PATH", str(tmp_path))
    with pytest.raises(NoTools):
        one.requeue("1")
    for name in ("scontrol", "squeue"):
        (tmp_path / name).write_text("#!/bin/sh\nexec /bin/sleep 60\n")
        (tmp_path / name).chmod(0o755)
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    began = time.monotonic()
    with pytest.raises(errors.Unclear):
        one.requeue("1")
    with pytest.raises(OutsideError):
        list(one.queue())
    assert time.monotonic() - began < 5
