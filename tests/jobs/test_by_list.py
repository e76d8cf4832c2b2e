"""A short queue is listed as a whole, and what is as the last list had it costs no row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest
import time_machine

from clusters.clients.slurmrest.models import JobRecord
from clusters.models import Cluster, SlurmEndpoint
from jobs.models import Job
from jobs.observer import by_list, rows
from jobs.observer.look import LIST, Memory, look
from portal.lib import clock
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db
START = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)


class Looks:
    """An observer that goes on, a few seconds from look to look."""

    def __init__(self, cluster: Cluster, time: time_machine.Traveller, patch: pytest.MonkeyPatch) -> None:
        self.cluster, self.time, self.memory = cluster, time, Memory()
        self.compared: list[int] = []  # with rows, in the last look
        save = rows.save_records

        def noted(cluster: Cluster, records: list[JobRecord], **how: object) -> rows.Changes:
            self.compared = sorted(record.job_id for record in records)
            return save(cluster, records, **how)  # type: ignore[arg-type]

        patch.setattr(by_list, "save_records", noted)

    def look(self, *, after: float = 3.0) -> SlurmEndpoint:
        """The endpoint after it."""
        self.time.shift(after)
        endpoints = SlurmEndpoint.objects.select_related("cluster__site")
        assert look(endpoints.get(cluster=self.cluster), self.memory).source == LIST
        return endpoints.get(cluster=self.cluster)

    def states(self) -> dict[int, str]:
        """What the portal shows."""
        return dict(Job.objects.values_list("slurm_job_id", "state"))


@pytest.fixture
def looks(slurm: FakeSlurm, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Looks]:
    with time_machine.travel(START, tick=False) as time:
        yield Looks(cluster, time, monkeypatch)


def test_only_what_changed_is_compared_with_its_row(looks: Looks, slurm: FakeSlurm) -> None:
    for number in range(1, 41):
        slurm.add(job_id=number)
    slurm.add(job_id=50, array_job_id=50, array_task_string="0-9")
    slurm.add(job_id=51, name="freehold-probe")
    seen = looks.look()
    assert (seen.jobs_running, seen.jobs_pending, len(looks.compared)) == (0, 50, 42)
    slurm.change(3, state="RUNNING", start_time=slurm.now())
    del slurm.records[4]
    seen = looks.look()
    assert looks.compared == [3]
    assert (seen.jobs_running, seen.jobs_pending) == (1, 48)
    assert {number: looks.states()[number] for number in (3, 4, 5)} == {
        3: "RUNNING",
        4: "ENDED",
        5: "PENDING",
    }


def test_every_ten_minutes_each_row_is_compared(looks: Looks, slurm: FakeSlurm) -> None:
    for number in range(1, 41):
        slurm.add(job_id=number)
    looks.look()
    Job.objects.filter(slurm_job_id=7).update(state="RUNNING")  # by whatever went wrong
    looks.look()
    assert looks.states()[7] == "RUNNING"
    looks.look(after=600)
    assert set(looks.states().values()) == {"PENDING"}
    assert len(looks.compared) == 40


def test_a_row_that_was_seen_later_is_compared_again(looks: Looks, slurm: FakeSlurm) -> None:
    slurm.add(job_id=7)
    looks.look()
    # somebody's act was seen after this look began, and Slurm took it back before the next one
    Job.objects.update(state="RUNNING", observed_at=clock.now() + dt.timedelta(seconds=4))
    slurm.change(7, reason="Priority")
    looks.look()
    assert looks.states() == {7: "RUNNING"}
    looks.look()
    assert looks.states() == {7: "PENDING"}


def test_a_row_that_an_act_or_another_observer_wrote_is_compared_though_the_list_is_as_it_was(
    looks: Looks, slurm: FakeSlurm
) -> None:
    slurm.add(job_id=7)
    looks.look()
    looks.time.shift(1)
    Job.objects.update(state="RUNNING", observed_at=clock.now())  # Slurm took it back before the next list
    slurm.add(job_id=8)
    looks.look()
    assert looks.compared == [7, 8]
    assert looks.states() == {7: "PENDING", 8: "PENDING"}


def test_after_a_failure_nothing_is_taken_for_known(looks: Looks, slurm: FakeSlurm) -> None:
    slurm.add(job_id=7)
    looks.look()
    looks.memory.forget_list()
    looks.look()
    assert looks.compared == [7]


def test_a_clock_that_is_read_beside_the_list_counts_as_an_earlier_one(
    looks: Looks, slurm: FakeSlurm
) -> None:
    slurm.add(job_id=1)
    looks.look()
    first = slurm.now()
    looks.look()
    assert slurm.listed[-1] == first, "nothing was known before: it was read, and then the list"
    second = slurm.now()
    looks.look()
    last = slurm.listed[-1]
    assert last is not None
    assert second - 30 < last < second, "what changed after the list and in that second is asked for again"
