"""Acts on a real Slurm: what each of them does to exactly which job, and that two sources tell the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.models import Job
from jobs.observer import sources
from jobs.observer.look import CONSOLE, LIST
from jobs.services import changes, submissions
from jobs.services.acts import ACTS
from jobs.services.doing import Done, Wish, do
from jobs.services.drafts import Typed
from portal.lib.errors import WrongState
from tests.cases import case
from tests.contract.slurmrest.lab import until
from tests.jobs.names import ODD_NAMES
from tests.jobs.real import RealCluster, real_cluster

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SLEEP = "#!/bin/bash\nsleep 300\n"
ROUNDS = 5  # Slurm may schedule between two looks


@pytest.fixture
def slurm() -> Iterator[RealCluster]:
    with real_cluster() as cluster:
        yield cluster


def submit(slurm: RealCluster, script: str = SLEEP, **fields: str) -> Job:
    made = submissions.submit_job(
        actor=slurm.actor,
        cluster=slurm.cluster,
        typed=Typed(fields=fields, script=script),
        key=uuid.uuid4(),
    )
    assert made.job is not None
    return made.job


def act(slurm: RealCluster, job: Job, name: str, **how: object) -> Done:
    row = Job.objects.select_related("cluster__site", "owner", "identity").get(pk=job.pk)
    return do(actor=slurm.actor, job=row, wish=Wish(ACTS[name], **how))  # type: ignore[arg-type]


def change(slurm: RealCluster, job: Job, **texts: str) -> Done:
    return act(slurm, job, "change", changes=changes.read(Job.objects.get(pk=job.pk), texts))


@case("U12")
def test_every_act_does_what_it_says_to_the_job_that_is_meant(slurm: RealCluster) -> None:
    job = submit(slurm, cpus_per_task="1", comment="first")
    slurm.wait_for(job, "RUNNING")
    # requeue, which begins again after a while; then hold and release what waits
    assert act(slurm, job, "requeue").job.restarts == 1
    waiting = slurm.wait_for(job, "PENDING")
    assert act(slurm, waiting, "hold").differs == ()
    assert Job.objects.get(pk=job.pk).reason == "JobHeldUser"
    done = change(slurm, waiting, time_limit_minutes="25", comment="second", nice="7")
    assert done.differs == ()
    assert (done.job.time_limit_minutes, done.job.comment, done.job.mark) == (25, "second", job.mark)
    assert "Nice=7" in slurm.slurm("scontrol", "show", "job", str(job.slurm_job_id))
    assert act(slurm, waiting, "release").job.reason != "JobHeldUser"
    with pytest.raises(WrongState, match="Slurm refused this"):
        change(slurm, waiting, partition="nowhere")
    # one task of an array, which stays an array
    array = submit(slurm, array="1-6%1", cpus_per_task="1")
    folded = slurm.look_until(
        lambda: Job.objects.filter(array_job_id=array.array_job_id, array_task_id=None).first()
    )
    act(slurm, folded, "cancel", tasks="4,6")
    shown = slurm.slurm("squeue", "--noheader", "--array", "--format=%i", f"--jobs={folded.array_job_id}")
    assert sorted(shown.split()) == [f"{folded.array_job_id}_{number}" for number in (1, 2, 3, 5)]
    # a signal is heard and ends nothing that catches it
    script = "#!/bin/bash\ntrap 'echo heard; exit 3' USR1\necho listens\nwhile true; do sleep 0.2; done\n"
    told = slurm.wait_for(submit(slurm, script), "RUNNING")
    output = Path(told.stdout_path)  # Slurm calls it running before its script is, and a signal would be lost
    until(lambda: output.exists() and "listens" in output.read_text(), what="the script listens")
    act(slurm, told, "cancel", signal="USR1")
    ended = slurm.look_until(lambda: Job.objects.filter(pk=told.pk).exclude(state="RUNNING").first())
    assert ended.state in {"FAILED", "COMPLETING"}


@case("U03")
def test_the_console_and_the_list_tell_the_same(slurm: RealCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = submit(slurm, "#!/bin/bash\nexit 7\n")
    submit(slurm, array="1-9%2", cpus_per_task="1")
    slurm.look_until(lambda: Job.objects.filter(state="RUNNING", array_job_id__gt=0).first())
    slurm.wait_for(ended, "FAILED")
    for name in ODD_NAMES:
        submit(slurm, name=name, cpus_per_task="1")
    slurm.look_until(lambda: Job.objects.filter(state="RUNNING").count() == 8)
    for _ in range(ROUNDS):
        news = told_otherwise(slurm, monkeypatch)
        if not news:
            return
    pytest.fail(f"in none of {ROUNDS} rounds the same: {news}")


def told_otherwise(slurm: RealCluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Jobs of which the console tells otherwise than the list right before; what begins meanwhile is news."""
    slurm.look_until(lambda: not Job.objects.filter(state="PENDING", reason="").exists())
    assert slurm.look() == LIST
    before = {job.pk: job.observed_at for job in Job.objects.all()}
    with monkeypatch.context() as patch:
        patch.setattr(sources, "MOST_LISTED", 0)
        slurm.memory.records = None
        assert slurm.look() == CONSOLE
    jobs = list(Job.objects.exclude(state="RUNNING"))
    return [f"{job.label} {job.state} {job.reason}" for job in jobs if before.get(job.pk) != job.observed_at]
