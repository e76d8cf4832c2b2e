"""A real cluster falls silent in mid-run: no job is shown as ended by it, and a poll after it all is right.

The long form, of two minutes and in the browser, is in tests/soak.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
import time_machine
from django.db import connection
from django.db.models import QuerySet
from django.test import Client

from jobs import outside
from jobs.models import Job, JobEvent
from jobs.notify.models import JobNotice
from jobs.observer import sources
from portal.lib import clock
from tenants.models import Role
from tests.builders import make_member, make_tenant
from tests.cases import case
from tests.clusters.builders import make_cluster
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
    Pressed,
    Scene,
    answers,
    silence,
)
from tests.jobs.proxies import Front, front_of

T = TypeVar("T")
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
FORGETFUL, NUMBERS = "forgetful", 12
SHORT_MEMORY = f"MinJobAge=2\nFirstJobId=1\nMaxJobId={NUMBERS + 1}\n"  # in seconds; it forgets every ten
# By release differs what is answered for a slurmctld that is away, and 22.05 has no word for a dead token.
SILENCES = [
    *itertools.product([CTLD_STOPS], RELEASES),
    *itertools.product([TOKENS], ("bookworm", "testing")),
    (REST_STOPS, FORGETFUL),
    (REST_HANGS, "bookworm"),
    (PAGES, "bookworm"),
]
UNKNOWN = "it is not known whether Slurm took it"
# what a change is answered with, and what a submit: not handed over, or it is still to be found out
SAID = {
    CTLD_STOPS: (UNKNOWN, "The cluster's slurmctld does not answer"),
    REST_STOPS: ("The cluster's Slurm API does not answer", "The cluster's Slurm API does not answer"),
    REST_HANGS: (UNKNOWN, ""),
    PAGES: (UNKNOWN, ""),
    TOKENS: ("Slurm did not accept the portal's token", "Slurm did not accept the portal's token"),
}
SAID_BY_22_05 = {TOKENS: (UNKNOWN, "")}  # the same words come when slurmctld hung up


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[SlurmLab]:
    """Of the release, without jobs of another test; or one that forgets and whose numbers come again."""
    release: str = request.param
    forgets = release == FORGETFUL
    with slurm_lab(3, release="bookworm" if forgets else release, more=SHORT_MEMORY * forgets) as made:
        yield made


@pytest.fixture
def front(lab: SlurmLab) -> Iterator[Front]:
    with front_of(lab.url) as proxy:
        yield proxy


@pytest.fixture
def scene(lab: SlurmLab, client: Client) -> Iterator[Scene]:
    tenant = make_tenant("Aurora Lab")
    member, cluster = make_member(tenant, Role.MEMBER), make_cluster(tenant)
    point_at(lab, cluster, member)
    yield Scene(LongQueue(lab, cluster, member), client)
    lab.command("scancel", "--full", f"--user={lab.members[1].name}")


@case("U16")
@pytest.mark.parametrize(("fault", "lab"), SILENCES, indirect=["lab"])
def test_a_silence_ends_no_job_and_one_poll_after_it_all_is_right(
    fault: str, lab: SlurmLab, front: Front, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault in BY_PROXY:
        scene.speak_through(front)
    last = "forgotten" if fault == REST_STOPS else "ends"
    scene.submit_those_that_go_on(last)
    # a slurmctld that is away is told of after four seconds, a slurmrestd that hangs never
    set_deadlines(monkeypatch, 1.0 if fault == REST_HANGS else 20.0)
    before = scene.known()
    with silence(fault, lab, front):
        scene.let_end(last)
        submitted, changed = press_at_once(scene, poll=True)
        assert scene.known() == before
        scene.pages_say_since_when()
        is_open = is_said_clearly(fault, lab, scene, submitted, changed)
        while_nobody_looks(fault, scene, last)
        set_deadlines(monkeypatch, 0.5)
        scene.poll()
        assert scene.known() == before
    set_deadlines(monkeypatch, 20.0)
    until(lambda: answers(lab), what="it is back")
    scene.is_right_after_one_poll()
    if fault == CTLD_STOPS:
        assert not ends().exists(), "slurmd tells slurmctld some seconds later"
    else:
        comes_to_its_end(scene, last)
    settles(fault, scene, is_open=is_open)
    if fault == REST_STOPS:
        the_number_comes_again(scene)


def set_deadlines(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Of looks and of changes."""
    for name in ("DEADLINE", "CHANGE_DEADLINE"):
        monkeypatch.setattr(outside, name, seconds)


def press_at_once(scene: Scene, *, poll: bool = False) -> tuple[Pressed, Pressed]:
    """Submit and change, and perhaps a poll, all at the same time."""

    def in_thread(call: Callable[[], T]) -> T:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        submitted = pool.submit(in_thread, lambda: scene.press_submit("lost"))
        changed = pool.submit(in_thread, scene.press_change)
        if poll:
            pool.submit(in_thread, scene.poll).result()
        return submitted.result(), changed.result()


def is_said_clearly(fault: str, lab: SlurmLab, scene: Scene, submitted: Pressed, changed: Pressed) -> bool:
    """Both presses are refused or said to be unclear; whether that of the submit is still open."""
    said = SAID_BY_22_05 if fault in SAID_BY_22_05 and lab.release == "bookworm" else SAID
    of_change, of_submit = said[fault]
    assert changed.status == 503
    assert of_change in changed.text
    assert ("Look at the job before you ask again" in changed.text) is (of_change == UNKNOWN)
    lost = scene.submission("lost")
    if of_submit:
        assert submitted.status == 503
        assert "Nothing was submitted" in submitted.text
        assert of_submit in submitted.text
        assert (lost.state, lost.job) == ("refused", None)
        return False
    assert submitted.status == 302
    assert submitted.location.endswith(f"/submissions/{lost.pk}/")
    assert (lost.state, lost.job) == ("checking", None)
    return True


def while_nobody_looks(fault: str, scene: Scene, last: str) -> None:
    """Where slurmctld is there it sees the end meanwhile, or has forgotten it."""
    key = scene.key_of(last)
    if fault == REST_STOPS:
        until(lambda: key not in scene.told(), what="it is forgotten")
    elif fault != CTLD_STOPS:
        until(lambda: scene.told()[key] == "FAILED", what="it has ended")


def comes_to_its_end(scene: Scene, last: str) -> None:
    """The end was seen, and is told once; of a job that Slurm has forgotten only that it ended."""
    job = Job.objects.get(pk=scene.jobs[last].pk)
    assert (job.state, job.exit_status) == (("FAILED", 3) if last == "ends" else ("ENDED", None))
    assert list(ends().values_list("job", "state")) == [(job.pk, job.state)]
    told = "failed" if last == "ends" else "ended"
    assert list(JobNotice.objects.values_list("job", "what")) == [(job.pk, told)]
    assert scene.states()["runs"] == "RUNNING"
    page = scene.get(f"/jobs/{scene.jobs['runs'].pk}/")
    assert "Cluster API not reachable" not in page
    assert 'class="age late"' not in page


def ends() -> QuerySet[JobEvent]:
    """What pages tell of ends."""
    return JobEvent.objects.exclude(state__in=["PENDING", "RUNNING", "COMPLETING"])


def settles(fault: str, scene: Scene, *, is_open: bool) -> None:
    """A submit whose answer was lost is found, or said to be lost once that is certain."""
    if fault == REST_HANGS:
        scene.poll_until(lambda: scene.submission("lost").state == "accepted")
        job = scene.submission("lost").job
        assert job is not None
        assert job.name == "lost"
        return
    if is_open:
        assert scene.submission("lost").state == "checking", "it may still be on its way"
        with time_machine.travel(clock.now() + dt.timedelta(seconds=30)):
            scene.poll()
        assert scene.submission("lost").state == "absent"
    assert not Job.objects.filter(name="lost").exists()
    assert "JobName=lost" not in scene.queue.lab.command("scontrol", "--oneliner", "show", "jobs")


def the_number_comes_again(scene: Scene) -> None:
    """The next job that Slurm gives the forgotten one's number is another job."""
    old = Job.objects.get(pk=scene.jobs["forgotten"].pk)
    for _ in range(NUMBERS):
        if scene.queue.submit(held=True, name="another's") % NUMBERS == old.slurm_job_id - 1:
            break
    new = scene.submit("again")
    assert (new.slurm_job_id, new.pk != old.pk) == (old.slurm_job_id, True)
    scene.is_right_after_one_poll()
    assert scene.states()["forgotten"] == "ENDED"
    assert scene.states()["again"] in {"PENDING", "RUNNING"}


@case("U16")
@pytest.mark.parametrize("lab", ["bookworm"], indirect=True)
def test_a_slurmctld_that_hangs_ends_no_job_of_a_queue_that_is_too_long_to_be_listed(
    scene: Scene, lab: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_LISTED", 0)
    cluster = scene.queue.cluster
    cluster.site.drivers = {**cluster.site.drivers, "slurm": "local"}  # it has a console
    cluster.site.save(update_fields=["drivers"])
    scene.submit_those_that_go_on("ends")
    assert scene.endpoint().source == "console"
    set_deadlines(monkeypatch, 1.0)
    before = scene.known()
    with lab.hanging("slurmctld"):
        scene.let_end("ends")
        scene.poll()
        assert scene.known() == before
        scene.pages_say_since_when()
    set_deadlines(monkeypatch, 20.0)
    until(lambda: scene.told()[scene.key_of("ends")] == "FAILED", what="slurmctld was told of the end")
    scene.is_right_after_one_poll()
    comes_to_its_end(scene, "ends")
