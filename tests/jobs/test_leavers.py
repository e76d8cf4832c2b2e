"""Jobs of who left: they go on, or end as their owner, as the tenant decided; nothing new is accepted."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from clusters import hints
from clusters.clients.slurmrest import errors
from clusters.models import Cluster, SlurmEndpoint
from jobs import tasks
from jobs.models import Job, Submission
from jobs.services import leavers, submissions
from jobs.services.accounts import account_of
from jobs.services.actions import cancel_job
from jobs.services.drafts import Typed
from portal.lib import clock
from portal.lib.errors import WrongState
from tenants.models import AuditEvent, Membership, Role, Tenant, User
from tenants.services import members
from tests.builders import actor_for, make_member
from tests.clusters.builders import owner_of
from tests.jobs.builders import SCRIPT, identity_for, make_job
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db


def wants_jobs_cancelled(tenant: Tenant) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(cancel_jobs_on_leave=True)


def row_of(person: User) -> Membership:
    return Membership.objects.select_related("tenant", "user").get(user=person)


def suspend(tenant: Tenant, person: User) -> Membership:
    members.suspend_member(actor=actor_for(owner_of(tenant), tenant), membership=row_of(person))
    return row_of(person)


def seen(cluster: Cluster, **after: float) -> None:
    """The observer looked at the cluster then."""
    SlurmEndpoint.objects.filter(cluster=cluster).update(observed_at=clock.now() + dt.timedelta(**after))


def ended(*jobs: Job) -> None:
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(state="CANCELLED")


def test_where_jobs_go_on_nothing_is_cancelled_and_an_admin_still_can(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice)
    account = identity_for(cluster, alice)
    left = suspend(tenant, alice)
    leavers.cancel_of_leaver(left.pk)
    assert leavers.due() == []
    assert slurm.cancelled == []
    account.refresh_from_db()
    assert not account.active
    admin = make_member(tenant, Role.ADMIN)
    cancel_job(actor=actor_for(admin, tenant), job=Job.objects.get(pk=job.pk))
    assert [name for name, _ in slurm.cancelled] == [account.name]


@pytest.mark.parametrize("how", ["suspended", "removed", "left"])
def test_where_jobs_end_they_are_cancelled_as_their_owner_and_that_is_recorded(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster, how: str
) -> None:
    wants_jobs_cancelled(tenant)
    other = make_member(tenant, Role.MEMBER)
    running, pending = make_job(cluster, alice), make_job(cluster, alice, state="PENDING")
    make_job(cluster, alice, state="COMPLETED")
    make_job(cluster, other)
    account = identity_for(cluster, alice).name
    owner = actor_for(owner_of(tenant), tenant)
    if how == "suspended":
        suspend(tenant, alice)
    elif how == "removed":
        members.remove_member(actor=owner, membership=row_of(alice))
    else:
        members.leave(actor=actor_for(alice, tenant))
    assert leavers.due() == [row_of(alice).pk]
    tasks.cancel_of_leaver(str(row_of(alice).pk))
    assert slurm.cancelled == [(account, str(running.slurm_job_id)), (account, str(pending.slurm_job_id))]
    events = AuditEvent.objects.filter(verb="job.cancelled", tenant=tenant)
    assert {event.actor_kind for event in events} == {"system"}
    assert {event.detail["why"] for event in events} == {
        "suspended" if how == "suspended" else "left the tenant"
    }
    assert events.count() == 2


def test_the_wish_ends_only_after_a_later_look_found_none(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    wants_jobs_cancelled(tenant)
    job, late = make_job(cluster, alice), make_job(cluster, alice, state="COMPLETED")
    left = suspend(tenant, alice)
    leavers.cancel_of_leaver(left.pk)
    ended(job)
    seen(cluster, seconds=5)
    leavers.cancel_of_leaver(left.pk)
    assert leavers.due() == [left.pk]
    Job.objects.filter(pk=late.pk).update(state="RUNNING")  # was on its way to Slurm at the suspension
    leavers.cancel_of_leaver(left.pk)
    assert [address for _, address in slurm.cancelled] == [str(job.slurm_job_id), str(late.slurm_job_id)]
    ended(late)
    seen(cluster, seconds=31)
    leavers.cancel_of_leaver(left.pk)
    assert leavers.due() == []
    assert len(slurm.cancelled) == 2


def test_an_array_is_asked_for_once_and_what_is_ending_not_again(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    wants_jobs_cancelled(tenant)
    for het in (0, 1):
        make_job(cluster, alice, slurm_job_id=900 + het, het_job_id=900, het_offset=het)
    make_job(cluster, alice, slurm_job_id=500, array_job_id=500, array_tasks="8-10", state="PENDING")
    make_job(cluster, alice, slurm_job_id=77, state="COMPLETING")
    leavers.cancel_of_leaver(suspend(tenant, alice).pk)
    assert sorted(address for _, address in slurm.cancelled) == ["500", "900"]


def test_a_silent_cluster_does_not_fill_the_trail(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    wants_jobs_cancelled(tenant)
    for _ in range(5):
        make_job(cluster, alice)
    left = suspend(tenant, alice)
    slurm.fault = errors.NotReachable("No answer.")
    leavers.cancel_of_leaver(left.pk)
    SlurmEndpoint.objects.update(unreachable_since=clock.now())
    leavers.cancel_of_leaver(left.pk)
    assert AuditEvent.objects.filter(verb="job.cancelled").count() == 1
    slurm.fault = None
    SlurmEndpoint.objects.update(unreachable_since=None)
    leavers.cancel_of_leaver(left.pk)
    assert len(slurm.cancelled) == 5
    assert leavers.due() == [left.pk]


def test_who_came_back_keeps_the_jobs(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    wants_jobs_cancelled(tenant)
    make_job(cluster, alice)
    left = suspend(tenant, alice)
    members.resume_member(actor=actor_for(owner_of(tenant), tenant), membership=left)
    leavers.cancel_of_leaver(left.pk)
    assert slurm.cancelled == []
    assert leavers.due() == []


def test_a_worker_is_told_on_commit_and_the_scan_finds_what_was_lost(
    monkeypatch: pytest.MonkeyPatch,
    tenant: Tenant,
    alice: User,
    cluster: Cluster,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    wants_jobs_cancelled(tenant)
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(hints, "send", lambda task, *, key, queue: sent.append((task, str(key))))
    with django_capture_on_commit_callbacks(execute=True):
        left = suspend(tenant, alice)
    assert ("jobs.cancel_of_leaver", str(left.pk)) in sent
    sent.clear()
    tasks.cancel_due()
    assert sent == [("jobs.cancel_of_leaver", str(left.pk))]


def test_nothing_is_submitted_for_who_was_suspended_a_moment_ago(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting = actor_for(alice, tenant)
    account = account_of(acting, cluster)

    def submit() -> Submission:
        return submissions.submit_job(
            actor=acting, cluster=cluster, typed=Typed(fields={"name": "x"}, script=SCRIPT), key=uuid.uuid4()
        )

    submit()
    assert len(slurm.submitted) == 1
    suspend(tenant, alice)
    with pytest.raises(WrongState):
        submit()
    # also where the request had read the account before: it is asked for again when a token is minted
    monkeypatch.setattr(submissions, "account_of", lambda actor, cluster: account)
    with pytest.raises(WrongState, match="takes no more jobs"):
        submit()
    assert len(slurm.submitted) == 1
    assert Submission.objects.latest("created_at").state == "refused"
