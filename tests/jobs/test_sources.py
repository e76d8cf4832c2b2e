"""Long queues: which source is taken, what each of them proves, and that nobody who watches waits for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest
import time_machine
from django.core.cache import cache

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import ExitCode, JobRecord
from clusters.models import Cluster, SlurmEndpoint
from jobs.models import Job, JobEvent
from jobs.observer import by_ids, by_lines, pace, rows, sources
from jobs.observer.look import CONSOLE, LIST, SINGLE, STATES, Memory, look
from portal.lib import clock
from portal.lib.http import NoAnswer
from tenants.live.topics import Topic, version_of
from tenants.models import User
from tests.cases import case
from tests.jobs import consoles
from tests.jobs.builders import identity_for, make_job, make_submission
from tests.jobs.consoles import FakeConsole, line_of
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db
LONG = (50_000, 10)
START = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)


class Queue:
    """A long queue, its console, and looks every few seconds."""

    def __init__(self, slurm: FakeSlurm, console: FakeConsole, cluster: Cluster) -> None:
        self.slurm, self.console, self.cluster = slurm, console, cluster
        self.memory = Memory()
        slurm.counts = LONG

    def look(self, *, after: int = 15, lines: bool = True) -> str:
        """A look some seconds later; the console prints what the controller knows."""
        self.time.shift(dt.timedelta(seconds=after))
        if lines:
            self.console.lines = [line_of(record) for record in self.slurm.records.values()]
        endpoint = SlurmEndpoint.objects.select_related("cluster__site").get(cluster=self.cluster)
        return look(endpoint, self.memory).source

    time: time_machine.Traveller


@pytest.fixture
def queue(slurm: FakeSlurm, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    made = Queue(slurm, consoles.install(monkeypatch), cluster)
    with time_machine.travel(START, tick=False) as time:
        made.time = time
        yield made
    cache.clear()


def states() -> dict[int, str]:
    return dict(Job.objects.values_list("slurm_job_id", "state"))


def test_a_long_queue_is_kept_as_a_whole_by_lines(queue: Queue, alice: User) -> None:
    account = identity_for(queue.cluster, alice).name
    queue.slurm.add(job_id=7, name="mine", user_name=account, comment="x [fh:abcdefghij23]")
    queue.slurm.add(job_id=8, name="theirs", user_name="root", state="RUNNING", start_time=queue.slurm.now())
    queue.slurm.add(job_id=9, array_job_id=9, array_task_string="1-20%2")
    assert queue.look() == CONSOLE
    assert queue.slurm.listed == [], "the list would take minutes"
    rows = {job.slurm_job_id: job for job in Job.objects.all()}
    assert (rows[7].owner, rows[7].mark, rows[7].comment) == (alice, "abcdefghij23", "x")
    assert (rows[8].owner, rows[8].state) == (None, "RUNNING")
    assert (rows[9].array_tasks, rows[9].task_count) == ("1-20%2", 20)
    assert queue.memory.whole.seconds == 0, "a first pass, in which all is new, sets no pace"
    endpoint = SlurmEndpoint.objects.get(cluster=queue.cluster)
    assert (endpoint.source, endpoint.jobs_running, endpoint.jobs_pending) == (CONSOLE, 1, 21)


def test_lines_that_are_as_they_were_cost_nothing(queue: Queue) -> None:
    for number in range(20):
        queue.slurm.add(job_id=100 + number)
    queue.look()
    topic = Topic(queue.cluster.tenant_id, "queue", queue.cluster.pk)
    before, events = version_of(topic), JobEvent.objects.count()
    changed = []
    real = rows.save_records

    def noted(cluster: Cluster, records: list[JobRecord], **how: object) -> object:
        changed.append(len(records))
        return real(cluster, records, **how)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_lines, "save_records", noted)
        queue.look()
        assert (version_of(topic), JobEvent.objects.count(), sum(changed)) == (before, events, 0)
        queue.slurm.change(105, state="RUNNING", start_time=queue.slurm.now())
        queue.look()
    assert sum(changed) == 1
    assert states()[105] == "RUNNING"


@case("U15")
def test_what_no_line_names_has_ended_and_how_it_ended_is_asked_for(queue: Queue, alice: User) -> None:
    for number in (7, 8, 9):
        queue.slurm.add(job_id=number, state="RUNNING", start_time=queue.slurm.now())
    queue.look()
    queue.slurm.change(
        7, state="FAILED", reason="NonZeroExitCode", end_time=queue.slurm.now(), exit_code=ExitCode(status=3)
    )
    del queue.slurm.records[8]
    queue.look()
    assert states() == {7: "FAILED", 8: "ENDED", 9: "RUNNING"}
    assert Job.objects.get(slurm_job_id=7).exit_status == 3


@pytest.mark.parametrize("fault", [errors.NotReachable(), errors.BadAnswer("half a line")])
def test_half_a_pass_ends_nothing_and_the_page_says_what_is_known(queue: Queue, fault: Exception) -> None:
    for number in (7, 8):
        queue.slurm.add(job_id=number, state="RUNNING", start_time=queue.slurm.now())
    assert queue.look() == CONSOLE
    queue.console.lines, queue.console.fault = queue.console.lines[:1], fault
    assert queue.look(lines=False) == CONSOLE, "a moment ago it was known"
    assert states() == {7: "RUNNING", 8: "RUNNING"}
    assert queue.look(after=90, lines=False) == SINGLE
    assert states() == {7: "RUNNING", 8: "RUNNING"}
    queue.console.fault = None
    assert queue.look() == CONSOLE


def test_a_console_that_does_not_answer_leaves_the_states_of_all(queue: Queue) -> None:
    queue.slurm.lists_states = True
    for number in (7, 8):
        queue.slurm.add(job_id=number, state="RUNNING", start_time=queue.slurm.now())
    queue.console.fault = errors.NotReachable("The cluster has no login pod that is ready.")
    assert queue.look() == STATES
    queue.console.fault = None
    assert queue.look(after=120) == CONSOLE


def test_the_next_job_of_a_number_is_another_job_and_a_requeue_is_not(queue: Queue) -> None:
    early = queue.slurm.now()
    for number in (7, 8):
        queue.slurm.add(job_id=number, name="first", state="RUNNING", submit_time=early, start_time=early)
    queue.look()
    queue.slurm.change(7, name="second", state="PENDING", submit_time=early + 10, start_time=None)
    queue.slurm.change(8, state="PENDING", submit_time=early + 10, start_time=None, restarts=1)
    queue.look()
    assert sorted(Job.objects.values_list("slurm_job_id", "name", "state")) == [
        (7, "first", "ENDED"),
        (7, "second", "PENDING"),
        (8, "first", "PENDING"),
    ]


def test_watched_jobs_are_asked_for_at_every_look_and_the_rest_is_bounded(
    queue: Queue, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 31):
        make_job(
            queue.cluster,
            alice,
            slurm_job_id=number,
            submit_time=START + dt.timedelta(seconds=number),
        )
    monkeypatch.setattr(by_ids, "FEW_OTHERS", 3)
    monkeypatch.setattr(by_ids, "OTHERS_A_LOOK", 5)
    pace.note_watched_job(queue.cluster.pk, 2)
    queue.console.fault = errors.NotReachable()
    queue.look(lines=False)
    assert sorted(queue.slurm.asked) == [2, 26, 27, 28, 29, 30]
    queue.slurm.asked.clear()
    for number in range(1, 31):
        queue.slurm.add(
            job_id=number,
            state="RUNNING",
            submit_time=int(START.timestamp()) + number,
            start_time=queue.slurm.now(),
        )
    queue.console.fault = None
    assert queue.look() == CONSOLE
    queue.slurm.asked.clear()
    queue.look(after=3)
    assert sorted(queue.slurm.asked) == [2, 28, 29, 30]
    assert queue.console.queues == 2, "not at every look"
    queue.slurm.asked.clear()
    queue.look(after=120)
    assert 2 not in queue.slurm.asked, "nobody looks at it any more"


@case("U16")
def test_many_different_open_pages_cost_no_more_and_each_has_its_turn(
    queue: Queue, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = range(1, 31)
    for number in numbers:
        make_job(queue.cluster, alice, slurm_job_id=number)
        pace.note_watched_job(queue.cluster.pk, number)
    monkeypatch.setattr(by_ids, "WATCHED_A_LOOK", 12)
    monkeypatch.setattr(by_ids, "OTHERS_A_LOOK", 0)
    queue.console.fault = errors.NotReachable()
    looks = []
    for _ in range(6):
        queue.slurm.asked.clear()
        queue.look(after=3, lines=False)
        looks.append(set(queue.slurm.asked))
    assert [len(asked) for asked in looks] == [12] * 6
    for first in range(4):
        assert set.union(*looks[first : first + 3]) == set(numbers), "within three looks"


def test_single_jobs_prove_nothing_of_others_without_a_console(
    slurm: FakeSlurm, cluster: Cluster, alice: User
) -> None:
    mine = make_job(cluster, alice, slurm_job_id=7)
    other = make_job(cluster, None, slurm_job_id=8)
    slurm.counts = LONG
    endpoint = SlurmEndpoint.objects.select_related("cluster__site").get(cluster=cluster)
    assert look(endpoint, Memory()).source == SINGLE
    assert {job.state for job in Job.objects.filter(pk__in=[mine.pk, other.pk])} == {"RUNNING"}


def test_without_a_console_the_states_tell_which_records_to_ask_for(
    slurm: FakeSlurm, cluster: Cluster, alice: User
) -> None:
    slurm.counts, slurm.lists_states = LONG, True
    memory = Memory()
    with time_machine.travel(START, tick=False) as time:
        for number in (7, 8, 9):
            slurm.add(job_id=number, name=f"job {number}", state="RUNNING", start_time=slurm.now())

        def again() -> str:
            time.shift(dt.timedelta(seconds=30))
            slurm.asked.clear()
            endpoint = SlurmEndpoint.objects.select_related("cluster__site").get(cluster=cluster)
            return look(endpoint, memory).source

        assert again() == STATES
        assert states() == dict.fromkeys((7, 8, 9), "RUNNING")
        slurm.change(7, state="COMPLETED", end_time=slurm.now(), exit_code=ExitCode())
        del slurm.records[8]
        again()
        assert states() == {7: "COMPLETED", 8: "ENDED", 9: "RUNNING"}
        assert slurm.asked == [7]
        again()
        assert slurm.asked == []


def test_after_thousands_were_cancelled_at_once_the_list_is_not_asked_for(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_LISTED", 20)
    for number in range(30):
        queue.slurm.add(job_id=100 + number)
    queue.look()
    queue.slurm.counts = (0, 0)
    for number in range(30):
        queue.slurm.change(100 + number, state="CANCELLED", end_time=queue.slurm.now())
    assert queue.look() == CONSOLE
    assert set(states().values()) == {"CANCELLED"}
    assert queue.look() == CONSOLE, "their records are still there"
    queue.slurm.records.clear()
    queue.look(after=310)
    assert queue.look() == LIST


def test_what_came_since_the_last_list_counts(slurm: FakeSlurm, cluster: Cluster) -> None:
    def may(memory: Memory) -> bool:
        return sources.may_list(cluster.pk, memory, slurm.diag(), clock.now())

    slurm.counts = (100_000, 0)
    assert may(Memory(records=1, bound=100_000)), "one array"
    assert not may(Memory(records=1, bound=50_000)), "or 50,000 jobs beside it"
    assert not may(Memory())
    slurm.counts = (4_000, 0)
    assert may(Memory())
    assert not may(Memory(list_failed_at=clock.now()))


def test_a_list_that_took_too_long_is_not_asked_for_again_at_once(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.slurm.counts = (4_000, 0)
    queue.slurm.add(job_id=7)

    def jobs(**_how: object) -> None:
        raise errors.NotReachable from NoAnswer("TooSlow", "too slow", timed_out=True)

    with monkeypatch.context() as patch:
        patch.setattr(queue.slurm, "jobs", jobs)
        with pytest.raises(errors.NotReachable):
            queue.look()
    assert queue.look() == CONSOLE
    assert queue.look(after=700) == LIST


@case("U16")
def test_a_list_that_failed_since_the_cluster_fell_silent_is_not_too_long(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.slurm.counts = (600, 0)

    def jobs(**_how: object) -> None:
        raise errors.NotReachable from NoAnswer("TooSlow", "too slow", timed_out=True)

    with monkeypatch.context() as patch:
        patch.setattr(queue.slurm, "jobs", jobs)
        with pytest.raises(errors.NotReachable):
            queue.look()
    queue.slurm.fault = errors.NotReachable()
    with pytest.raises(errors.NotReachable):
        queue.look()
    queue.slurm.fault = None
    assert queue.look() == LIST


def test_a_long_queue_is_read_again_only_when_slurm_did_something(queue: Queue, alice: User) -> None:
    queue.slurm.add(job_id=7)
    queue.slurm.doings = (1, 0)
    assert queue.look() == CONSOLE
    queue.slurm.add(job_id=8)
    assert (queue.look(), states()) == (CONSOLE, {7: "PENDING"})
    assert (queue.look(), states()) == (CONSOLE, {7: "PENDING"}), "and it counts as known"
    queue.slurm.doings = (2, 0)
    assert (queue.look(), states()) == (CONSOLE, {7: "PENDING", 8: "PENDING"})
    queue.slurm.add(job_id=9)
    assert (queue.look(after=55), len(states())) == (CONSOLE, 2)
    assert (queue.look(after=9), len(states())) == (CONSOLE, 3), "it may do what it does not count"
    make_submission(queue.cluster, alice)
    queue.slurm.add(job_id=10)
    assert (queue.look(), len(states())) == (CONSOLE, 4), "a submit waits for proof"


@case("U16")
def test_a_long_queue_is_read_as_a_whole_at_once_after_a_silence(queue: Queue) -> None:
    queue.slurm.add(job_id=7)
    assert (queue.look(), states()) == (CONSOLE, {7: "PENDING"})
    SlurmEndpoint.objects.filter(cluster=queue.cluster).update(unreachable_since=clock.now())
    queue.slurm.change(7, state="RUNNING", start_time=queue.slurm.now())
    assert (queue.look(after=1), states()) == (CONSOLE, {7: "RUNNING"})


@case("U10")
def test_a_lost_submit_is_settled_by_the_lines_too(queue: Queue, alice: User) -> None:
    there, lost = (make_submission(queue.cluster, alice) for _ in range(2))
    account = identity_for(queue.cluster, alice).name
    queue.slurm.add(
        job_id=7,
        name="train-7b",
        user_name=account,
        comment=f"[fh:{there.mark}]",
        submit_time=queue.slurm.now() + 1,
    )
    queue.look(after=30)
    there.refresh_from_db()
    lost.refresh_from_db()
    assert (there.state, there.slurm_job_id, lost.state) == ("accepted", 7, "absent")


def test_of_a_queue_without_end_no_more_is_remembered(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_REMEMBERED", 5)
    for number in range(6):
        queue.slurm.add(job_id=100 + number)
    queue.look()
    assert queue.memory.whole.lines == {}
    del queue.slurm.records[100]
    queue.look()
    assert len(queue.memory.whole.lines) == 5
