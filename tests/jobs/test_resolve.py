"""What became of submits whose answer was lost."""

from __future__ import annotations

import datetime as dt

import pytest
import time_machine

from clusters.models import Cluster, SlurmEndpoint
from jobs.models import Job, Submission
from jobs.observer.look import Memory, look
from jobs.observer.resolve import resolve_submissions
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.models import Role, User
from tests.builders import make_member, make_tenant
from tests.cases import case
from tests.jobs.builders import make_job, make_slurm_cluster, make_submission
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return make_member(make_tenant("Aurora Lab"), Role.MEMBER)


@pytest.fixture
def cluster(alice: User) -> Cluster:
    return make_slurm_cluster(alice.memberships.get().tenant)


def resolve(submission: Submission, *, after: float, complete: bool = True) -> Submission:
    looked_at = submission.sent_at + dt.timedelta(seconds=after)
    resolve_submissions(submission.cluster, looked_at=looked_at, complete=complete)
    submission.refresh_from_db()
    return submission


@case("U10")
def test_the_mark_finds_the_job(alice: User, cluster: Cluster) -> None:
    submission = make_submission(cluster, alice)
    job = make_job(cluster, alice, mark=submission.mark, submit_time=clock.now())
    resolve(submission, after=1, complete=False)
    assert (submission.state, submission.job, submission.slurm_job_id) == ("accepted", job, job.slurm_job_id)


@case("U10")
@pytest.mark.parametrize(
    "other",
    [
        {"name": "other"},
        {"submit_time": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)},
        {"mark": "aaaaaaaaaaaa"},
        {"by": "bob"},
    ],
)
def test_a_mark_alone_proves_nothing(alice: User, cluster: Cluster, other: JSONDict) -> None:
    submission = make_submission(cluster, alice)
    owner = make_member(cluster.tenant, Role.MEMBER) if other.pop("by", "") else alice
    make_job(cluster, owner, **{"mark": submission.mark, "submit_time": clock.now(), **other})
    assert resolve(submission, after=1).state == "checking"
    make_job(cluster, alice, mark=submission.mark, submit_time=clock.now())
    assert resolve(submission, after=2).state == "accepted"


@case("U10")
@pytest.mark.parametrize(
    ("after", "complete", "state"),
    [
        (5, True, "checking"),  # it may still be on its way
        (30, False, "checking"),  # a partial list proves nothing
        (30, True, "absent"),
        (200, True, "absent"),
        (600, True, "unknown"),  # a short job could have come and gone
    ],
)
def test_absence_is_said_only_when_it_is_proved(
    alice: User, cluster: Cluster, after: float, complete: bool, state: str
) -> None:
    assert resolve(make_submission(cluster, alice), after=after, complete=complete).state == state


@case("U10", "U16")
@pytest.mark.parametrize(("back_for", "state"), [(0, "checking"), (19, "checking"), (21, "absent")])
def test_what_a_cluster_was_sent_before_it_fell_silent_may_still_be_done(
    alice: User, cluster: Cluster, back_for: float, state: str
) -> None:
    submission = make_submission(cluster, alice)
    looked_at = submission.sent_at + dt.timedelta(seconds=120)
    resolve_submissions(
        cluster,
        looked_at=looked_at,
        complete=True,
        answers_since=looked_at - dt.timedelta(seconds=back_for),
    )
    submission.refresh_from_db()
    assert submission.state == state


@case("U10", "U16")
def test_the_first_looks_after_a_silence_say_of_no_submit_that_it_did_not_arrive(
    slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    submission, memory, began = make_submission(cluster, alice), Memory(), clock.now()
    SlurmEndpoint.objects.filter(cluster=cluster).update(unreachable_since=began)
    seen = []
    for seconds in (120, 123, 139, 141):
        with time_machine.travel(began + dt.timedelta(seconds=seconds), tick=False):
            look(SlurmEndpoint.objects.select_related("cluster").get(cluster=cluster), memory)
        submission.refresh_from_db()
        seen.append(submission.state)
    assert seen == ["checking", "checking", "checking", "absent"]


def test_a_submit_that_turns_up_late_is_found(alice: User, cluster: Cluster) -> None:
    submission = resolve(make_submission(cluster, alice), after=30)
    assert submission.state == "absent"
    make_job(cluster, alice, mark=submission.mark, submit_time=clock.now())
    assert resolve(submission, after=60).state == "accepted"


def test_a_portal_that_died_while_sending_is_checked(alice: User, cluster: Cluster) -> None:
    submission = make_submission(cluster, alice, state="sending")
    # one of a hundred may be sent a while after its record, and is settled a while later
    assert resolve(submission, after=60).state == "sending"
    assert resolve(submission, after=80).state == "checking"


def test_of_an_array_the_record_with_its_own_id_is_shown(alice: User, cluster: Cluster) -> None:
    submission = make_submission(cluster, alice, array="0-3")
    array: JSONDict = {"mark": submission.mark, "array_job_id": 500, "submit_time": clock.now()}
    make_job(cluster, alice, slurm_job_id=501, array_task_id=0, **array)
    rest = make_job(cluster, alice, slurm_job_id=500, array_tasks="1-3", state="PENDING", **array)
    resolve(submission, after=1)
    assert (submission.job, submission.slurm_job_id) == (rest, 500)
    assert Job.objects.count() == 2
