"""Clusters of three releases fall silent for two minutes, each in its own way, while one observer goes on.

Printed are the seconds from a cluster's return until the portal is right about it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest
from django.db import connection
from django.test import Client

from jobs.models import Job, JobEvent
from jobs.notify.models import JobNotice
from jobs.observer import pace
from jobs.observer.loop import Observer
from portal.lib import clock
from tenants.models import Role
from tests.builders import make_member, make_tenant
from tests.clusters.builders import make_cluster, make_site
from tests.contract.slurmrest.lab import SlurmLab, slurm_lab, until
from tests.contract.slurmrest.places import RELEASES
from tests.jobs.long_queue import LongQueue, point_at
from tests.jobs.outages import (
    BY_PROXY,
    CTLD_STOPS,
    PAGES,
    REST_HANGS,
    REST_STOPS,
    TOKENS,
    Key,
    Scene,
    silence,
)
from tests.jobs.proxies import Front, front_of
from tests.jobs.test_outages import SHORT_MEMORY, is_said_clearly, press_at_once, the_number_comes_again

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]
LASTS = 120.0  # seconds
USUAL = "MessageTimeout=10\n"  # Slurm's own default: so long slurmrestd waits for a slurmctld that is away
SILENCES = [
    *itertools.product([CTLD_STOPS], RELEASES),
    (REST_STOPS, "bookworm"),
    (REST_HANGS, "bookworm"),
    (PAGES, "bookworm"),
    *itertools.product([TOKENS], ("bookworm", "testing")),
]
POLL = pace.WATCHED.total_seconds()
MOST_BACK = (
    2 * POLL + 4
)  # a poll's pause, and what a slurmctld that starts takes to answer, on a busy machine


@dataclass
class Watched:
    """A cluster that somebody has open, what is known of it before, and when it was right again."""

    fault: str
    scene: Scene
    front: Front
    last: str
    silent: ExitStack = field(default_factory=ExitStack)
    before: object = None
    is_open: bool = False
    returned: float = 0.0
    answered: float = 0.0  # the first good look
    slurm_knows: float = 0.0  # of the end
    right: float = 0.0
    told: dict[Key, str] = field(default_factory=dict)  # by Slurm

    @property
    def lab(self) -> SlurmLab:
        """Its daemons."""
        return self.scene.queue.lab

    def note_end(self) -> None:
        """Look whether the portal is right by now."""
        if not self.answered and self.scene.endpoint().unreachable_since is not None:
            return
        now = time.monotonic()
        self.answered = self.answered or now
        before, self.told = self.told, self.scene.told()
        if not self.slurm_knows and self.told.get(self.scene.key_of(self.last)) != "RUNNING":
            self.slurm_knows = now
        if self.scene.states()[self.last] in {"FAILED", "ENDED"}:
            self.right = time.monotonic()
            self.scene.agree(before, self.told, self.scene.told())


def scene_of(lab: SlurmLab, front: Front, fault: str, number: int) -> Scene:
    """A tenant and a site of its own, which point at the lab."""
    tenant = make_tenant(f"Tenant {number}")
    member = make_member(tenant, Role.MEMBER)
    cluster = make_cluster(tenant, make_site(f"Site {number}", machines=2))
    point_at(lab, cluster, member)
    scene = Scene(LongQueue(lab, cluster, member), Client())
    if fault in BY_PROXY:
        scene.speak_through(front)
    return scene


@pytest.fixture
def watched() -> Iterator[list[Watched]]:
    """All of them, with jobs that run and wait; the last one is well all the time."""
    with ExitStack() as stack:
        made = []
        for number, (fault, release) in enumerate([*SILENCES, ("", "bookworm")]):
            forgets = fault not in {CTLD_STOPS, ""}
            more = USUAL + SHORT_MEMORY * forgets
            lab = stack.enter_context(slurm_lab(3, release=release, more=more))
            front = stack.enter_context(front_of(lab.url))
            scene = scene_of(lab, front, fault, number)
            last = "forgotten" if forgets else "ends"
            scene.submit_those_that_go_on(last)
            one = Watched(fault, scene, front, last)
            stack.callback(one.silent.close)
            made.append(one)
        yield made


@contextmanager
def observed() -> Iterator[None]:
    """One observer for all of them, as it runs in production."""
    observer, stop = Observer(), threading.Event()

    def run() -> None:
        try:
            observer.run(stop)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(90)


def note_watched(watched: list[Watched]) -> None:
    """All have pages open."""
    pace.note_watched([one.scene.queue.cluster.pk for one in watched])


def fall_silent(watched: list[Watched]) -> None:
    """All at once; what is known is noted when it was seen that nobody answers, and only then jobs end."""
    began = time.monotonic()
    for one in watched:
        one.silent.enter_context(silence(one.fault, one.lab, one.front))
    left = list(watched)

    def all_seen() -> bool:
        for one in [one for one in left if one.scene.endpoint().unreachable_since is not None]:
            print(f"{one.fault}, {one.lab.release}: seen after {time.monotonic() - began:.1f} s")
            left.remove(one)
        return not left

    until(all_seen, seconds=60, what="it is seen that nobody answers")
    for one in watched:
        one.before = one.scene.known()
        one.scene.let_end(one.last)


def stay_silent(watched: list[Watched], well: Watched) -> float:
    """Nothing changes but for the age; returns the longest age of the one that is well."""
    end, oldest, is_pressed = time.monotonic() + LASTS, 0.0, False
    while time.monotonic() < end:
        note_watched([*watched, well])
        for one in watched:
            assert one.scene.known() == one.before, one.fault
        seen = well.scene.endpoint().observed_at
        assert seen is not None
        oldest = max(oldest, (clock.now() - seen).total_seconds())
        if not is_pressed and time.monotonic() > end - LASTS / 2:
            is_pressed = True
            for one in watched:
                press(one)
        time.sleep(0.5)
    for one in watched:
        one.scene.pages_say_since_when()
    return oldest


def press(one: Watched) -> None:
    """Submit and change, in the middle of the silence."""
    submitted, changed = press_at_once(one.scene)
    one.is_open = is_said_clearly(one.fault, one.lab, one.scene, submitted, changed)


def come_back(watched: list[Watched]) -> None:
    """All at once, and until each is right."""
    for one in watched:
        one.silent.close()
        one.returned = time.monotonic()

    def all_right() -> bool:
        note_watched(watched)
        for one in watched:
            if not one.right:
                one.note_end()
        time.sleep(0.1)
        return all(one.right for one in watched)

    until(all_right, seconds=90, what="all is right")


def test_two_minutes_of_silence_end_no_job_and_a_poll_after_them_all_is_right(watched: list[Watched]) -> None:
    *silent, well = watched
    note_watched(watched)
    with observed():
        fall_silent(silent)
        oldest = stay_silent(silent, well)
        come_back(silent)
        for one in silent:
            knew = max(one.slurm_knows, one.returned)
            print(
                f"{one.fault}, {one.lab.release}: seen to answer {one.answered - one.returned:.1f} s after"
                f" its return; Slurm knew of the end {knew - one.returned:.1f} s after that return,"
                f" the portal {one.right - knew:.1f} s later"
            )
        print(f"the one that was well was never older than {oldest:.1f} s")
        for one in silent:
            assert one.answered - one.returned < MOST_BACK
            assert one.right - max(one.slurm_knows, one.answered) < MOST_BACK
        assert oldest < MOST_BACK
        until(lambda: all(settled(one) for one in silent), seconds=60, what="all submits are settled")
    for one in silent:
        ended = "FAILED" if one.fault == CTLD_STOPS else "ENDED"
        ends = JobEvent.objects.filter(job__cluster=one.scene.queue.cluster, state__in=["FAILED", "ENDED"])
        assert list(ends.values_list("job", "state")) == [(one.scene.jobs[one.last].pk, ended)]
        assert JobNotice.objects.filter(job=one.scene.jobs[one.last]).count() == 1
        assert one.scene.states()["runs"] == "RUNNING"
    the_number_comes_again(next(one.scene for one in silent if one.fault == REST_STOPS))


def settled(one: Watched) -> bool:
    """A submit whose answer was lost was found where it arrived, and is said to be lost elsewhere."""
    state = one.scene.submission("lost").state
    arrived = Job.objects.filter(cluster=one.scene.queue.cluster, name="lost").exists()
    if one.fault == REST_HANGS:
        return state == "accepted" and arrived
    assert not arrived
    return state == ("absent" if one.is_open else "refused")
