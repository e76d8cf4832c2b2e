"""When the observer looks: its pauses, leases and threads."""

from __future__ import annotations

import datetime as dt
import threading
import uuid
from itertools import pairwise

import pytest
import time_machine
from django.db import connection

from clusters.clients.slurmrest import errors
from clusters.models import Cluster, SlurmEndpoint
from jobs.observer import loop, pace
from jobs.observer.look import LIST, Memory, Seen, look
from jobs.observer.loop import Observer, claim, observe, release
from portal.lib import clock
from tenants.live.registry import KINDS
from tenants.models import Tenant, User
from tests.cases import case
from tests.jobs.builders import make_job, make_slurm_cluster
from tests.jobs.fakes import FakeSlurm
from tests.jobs.proxies import Fault, broken_slurm

pytestmark = pytest.mark.django_db
PING = {"meta": {"Slurm": {"release": "22.05.8"}}, "errors": [], "pings": [{"ping": "UP", "mode": "primary"}]}


def endpoint_of(cluster: Cluster) -> SlurmEndpoint:
    return SlurmEndpoint.objects.select_related("cluster").get(cluster=cluster)


@case("U16")
def test_the_pauses_grow_and_a_good_answer_ends_them(slurm: FakeSlurm, cluster: Cluster) -> None:
    pauses = [pace.pause(failures, longest=pace.IDLE).total_seconds() for failures in range(1, 12)]
    assert pauses[0] < 3 < pauses[2] < 10 < pauses[4]
    for longest in (pace.WATCHED, pace.BUSY, pace.IDLE):
        assert all(pace.pause(failures, longest=longest) <= longest for failures in range(1, 12))
    SlurmEndpoint.objects.filter(cluster=cluster).update(
        failures=5, unreachable_since=clock.now(), trouble="x"
    )
    look(endpoint_of(cluster), Memory())
    seen = endpoint_of(cluster)
    assert (seen.failures, seen.unreachable_since, seen.trouble) == (0, None, "")


@case("U16")
@pytest.mark.parametrize(
    ("watched", "running", "usual"),
    [(True, 1, pace.WATCHED), (True, 0, pace.BUSY), (False, 1, pace.BUSY), (False, 0, pace.IDLE)],
)
def test_a_silent_cluster_is_looked_at_as_soon_as_if_it_answered(
    slurm: FakeSlurm, cluster: Cluster, watched: bool, running: int, usual: dt.timedelta
) -> None:
    if watched:
        pace.note_watched([cluster.pk])
    slurm.fault = errors.NotReachable()
    now = clock.now()
    SlurmEndpoint.objects.filter(cluster=cluster).update(
        failures=9, unreachable_since=now, jobs_running=running
    )
    with time_machine.travel(now, tick=False):
        claimed = claim(cluster.slurm.pk)
        assert claimed is not None
        observe(claimed, {})
        due_at = endpoint_of(cluster).next_observe_at
    assert due_at is not None
    assert usual * 0.7 < due_at - now <= usual


@case("U16")
@pytest.mark.django_db(transaction=True)
def test_silent_clusters_leave_threads_for_those_that_answer(
    tenant: Tenant, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, looked = threading.Event(), []
    silent = [make_slurm_cluster(tenant, name=f"silent-{number}", nodes=1) for number in range(2)]
    long_ago = clock.now() - dt.timedelta(minutes=1)
    SlurmEndpoint.objects.filter(cluster__in=silent).update(failures=3, next_observe_at=long_ago)

    def hang(endpoint: SlurmEndpoint, *_: object) -> Seen:
        looked.append(endpoint.cluster.name)
        if endpoint.failures:
            go_on.wait(20)
        return Seen(LIST, active=True)

    monkeypatch.setattr(loop, "look", hang)
    observer = Observer(threads=2)
    try:
        assert observer.step() == 1, "silent ones wait for each other"
        well = make_slurm_cluster(tenant, name="well", nodes=1)
        SlurmEndpoint.objects.filter(cluster=well).update(next_observe_at=clock.now())
        assert observer.step() == 1
        assert observer.step() == 0
    finally:
        go_on.set()
        observer.wait()
    assert sorted(looked)[1:] == ["well"]
    assert observer.step() == 1, "then it is the turn of the other one"
    observer.wait()
    assert len(set(looked)) == 3
    connection.close()


def test_one_observer_at_a_time_looks_at_a_cluster(cluster: Cluster) -> None:
    first = claim(cluster.slurm.pk)
    assert first is not None
    assert claim(cluster.slurm.pk) is None
    release(first, dt.timedelta(0))
    assert claim(cluster.slurm.pk) is not None


def test_a_lease_of_an_observer_that_died_ends(cluster: Cluster) -> None:
    with time_machine.travel(clock.now() - loop.LEASE - dt.timedelta(seconds=1), tick=False):
        assert claim(cluster.slurm.pk) is not None
    assert claim(cluster.slurm.pk) is not None


def test_who_asks_during_a_look_is_heard_after_it(cluster: Cluster) -> None:
    now = clock.now()
    with time_machine.travel(now, tick=False) as time:
        claimed = claim(cluster.slurm.pk)
        assert claimed is not None
        pace.poke(cluster)
        release(claimed, dt.timedelta(minutes=1))
        assert claim(cluster.slurm.pk) is None
        time.shift(pace.SOON)
        assert claim(cluster.slurm.pk) is not None


@pytest.mark.parametrize(("cost", "apart"), [(0.02, 1.0), (0.4, 2.0), (1.0, 3.0), (4.0, 8.0)])
def test_looks_that_a_burst_of_acts_asks_for_leave_slurm_time(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, cost: float, apart: float
) -> None:
    began, looks = clock.now(), []
    pace.note_watched([cluster.pk])
    SlurmEndpoint.objects.filter(cluster=cluster).update(next_observe_at=began + pace.BUSY)
    with time_machine.travel(began, tick=False) as time:

        def look_for_a_while(*_: object) -> Seen:
            looks.append((clock.now() - began).total_seconds())
            time.shift(cost)
            pace.poke(cluster)  # somebody acts meanwhile
            return Seen(LIST, active=True)

        monkeypatch.setattr(loop, "look", look_for_a_while)
        while clock.now() < began + dt.timedelta(seconds=20):
            pace.poke(cluster)
            if claimed := claim(cluster.slurm.pk):
                observe(claimed, {})
            time.shift(0.05)
    pauses = [later - earlier for earlier, later in pairwise(looks)]
    assert pace.SOON.total_seconds() <= looks[0] < 0.4
    assert apart - 0.01 <= min(pauses)
    assert max(pauses) < apart + 0.2, "and an act is seen as soon as a watched change"


def test_an_act_is_looked_at_though_a_look_is_due_much_later(cluster: Cluster) -> None:
    now = clock.now()
    with time_machine.travel(now, tick=False):
        for after in (pace.SOON, pace.JUST_ACTED):  # the first act, and one that follows
            SlurmEndpoint.objects.filter(cluster=cluster).update(next_observe_at=now + pace.IDLE)
            pace.poke(cluster, due=now + pace.IDLE)
            assert endpoint_of(cluster).next_observe_at == now + after
        near = now + pace.LONGEST_REST
        SlurmEndpoint.objects.filter(cluster=cluster).update(next_observe_at=near)
        pace.poke(cluster)
        assert endpoint_of(cluster).next_observe_at == near


@case("U16")
def test_a_page_that_only_asks_whether_it_is_up_to_date_watches_its_job(
    alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, state="RUNNING")
    ended = make_job(cluster, alice, state="FAILED")
    for row in (job, ended):
        KINDS["job"].etag(1, row)
    assert pace.watched_jobs(cluster.pk) == [job.slurm_job_id]


def test_the_pace_follows_who_watches_and_what_runs() -> None:
    key = uuid.uuid4()
    assert pace.interval(key, active=False) == pace.IDLE
    assert pace.interval(key, active=True) == pace.BUSY
    cluster = Cluster(pk=key)
    pace.poke(cluster)
    assert pace.interval(key, active=True) == pace.WATCHED, "nobody sees what a burst of submits did"
    pace.note_watched([key])
    assert pace.interval(key, active=True) == pace.JUST_ACTED


def test_a_watched_cluster_with_jobs_is_looked_at_often() -> None:
    key = uuid.uuid4()
    pace.note_watched([key])
    assert pace.interval(key, active=True) == pace.WATCHED


@pytest.mark.parametrize("change", [{"wanted": False}, {"phase": "deleted"}, {"ready_at": None}])
def test_only_clusters_that_were_ready_are_looked_at(cluster: Cluster, change: dict[str, object]) -> None:
    assert loop.due(clock.now()).exists()
    Cluster.objects.filter(pk=cluster.pk).update(**change)
    assert not loop.due(clock.now()).exists()


@case("U16")
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_slow_cluster_does_not_hold_the_others(tenant: Tenant, alice: User) -> None:
    slow, quick = make_slurm_cluster(tenant, name="slow"), make_slurm_cluster(tenant, name="quick")
    answered = threading.Event()
    with (
        broken_slurm(Fault(500, delay=4)) as slow_url,
        broken_slurm(Fault(502, "text/plain", b"Bad")) as quick_url,
    ):
        SlurmEndpoint.objects.filter(cluster=slow).update(url=slow_url, next_observe_at=clock.now())
        SlurmEndpoint.objects.filter(cluster=quick).update(url=quick_url, next_observe_at=clock.now())
        observer = Observer(threads=4)
        assert observer.step() == 2
        began = clock.now()
        while endpoint_of(quick).failures == 0 and clock.now() - began < dt.timedelta(seconds=3):
            answered.wait(0.05)
        assert endpoint_of(quick).failures == 1
        assert endpoint_of(slow).failures == 0
        observer.wait()
        assert endpoint_of(slow).failures == 1
    connection.close()
