"""Cancel: who may, as whom, and what exactly."""

from __future__ import annotations

import html

import pytest
from django.test import Client

from clusters.clients.slurmrest import errors
from clusters.models import Cluster
from jobs.services.actions import cancel_job
from portal.lib.errors import NotAllowed, OutsideError, WrongState
from portal.lib.types import JSONDict
from tenants.models import AuditEvent, Role, Tenant, User
from tests.builders import actor_for, make_member, sign_in
from tests.cases import case
from tests.jobs.builders import identity_for, make_job
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db


def test_an_admin_cancels_as_the_owners_account_and_that_is_recorded(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, slurm_job_id=12)
    admin = make_member(tenant, Role.ADMIN)
    cancel_job(actor=actor_for(admin, tenant), job=job)
    account = identity_for(cluster, alice).name
    assert slurm.cancelled == [(account, "12")]
    event = AuditEvent.objects.get(verb="job.cancelled")
    assert (event.actor_user, event.detail["as"], event.detail["others"]) == (admin, account, True)


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
def test_others_may_not(slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster, role: Role) -> None:
    job = make_job(cluster, alice)
    with pytest.raises(NotAllowed):
        cancel_job(actor=actor_for(make_member(tenant, role), tenant), job=job)
    assert slurm.cancelled == []
    cancel_job(actor=actor_for(alice, tenant), job=job)
    assert len(slurm.cancelled) == 1


@case("U12")
@pytest.mark.parametrize(
    ("columns", "address"),
    [
        ({"slurm_job_id": 507, "array_job_id": 500, "array_task_id": 7}, "500_7"),
        (
            {"slurm_job_id": 500, "array_job_id": 500, "array_task_id": 10},
            "500_10",
        ),  # the last one bears its id
        ({"slurm_job_id": 500, "array_job_id": 500, "array_tasks": "8-10%2", "state": "PENDING"}, "500"),
        ({"slurm_job_id": 901, "het_job_id": 900, "het_offset": 1}, "900"),
        ({"slurm_job_id": 12}, "12"),
    ],
)
def test_exactly_what_was_asked_for_is_cancelled(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster, columns: JSONDict, address: str
) -> None:
    job = make_job(cluster, alice, **columns)
    cancel_job(actor=actor_for(alice, tenant), job=job)
    assert [named for _, named in slurm.cancelled] == [address]


@case("U31")
def test_what_already_ended_says_so(slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, state="COMPLETED")
    with pytest.raises(WrongState, match="already ended: Completed"):
        cancel_job(actor=actor_for(alice, tenant), job=job)
    assert slurm.cancelled == []


def test_a_job_that_slurm_forgot_says_so(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    slurm.fault = errors.UnknownJob(2017, "Invalid job id specified")
    with pytest.raises(WrongState, match="forgotten"):
        cancel_job(actor=actor_for(alice, tenant), job=make_job(cluster, alice))


def test_a_job_of_nobody_we_know_cannot_be_cancelled(
    slurm: FakeSlurm, tenant: Tenant, cluster: Cluster
) -> None:
    admin = make_member(tenant, Role.ADMIN)
    with pytest.raises(WrongState, match="not submitted by a member"):
        cancel_job(actor=actor_for(admin, tenant), job=make_job(cluster))


def test_the_button_cancels_and_leads_back(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice)
    sign_in(client, alice)
    response = client.post(f"/t/aurora-lab/jobs/{job.pk}/cancel/")
    assert (response.status_code, response["Location"]) == (302, f"/t/aurora-lab/jobs/{job.pk}/")
    assert len(slurm.cancelled) == 1


@case("U16")
@pytest.mark.parametrize(
    ("fault", "said", "unsaid"),
    [
        (errors.NotReachable(), "Clusters and running jobs are not touched", "Look at the job"),
        (errors.Unclear(), "Look at the job before you ask again", "are not touched"),
    ],
    ids=["not reachable", "unclear"],
)
@pytest.mark.parametrize("act", ["cancel", "hold"])
def test_whether_it_was_done_is_said_or_said_to_be_unclear(
    client: Client,
    slurm: FakeSlurm,
    alice: User,
    cluster: Cluster,
    act: str,
    fault: OutsideError,
    said: str,
    unsaid: str,
) -> None:
    job = make_job(cluster, alice, state="PENDING")
    slurm.fault = fault
    response = sign_in(client, alice).post(f"/t/aurora-lab/jobs/{job.pk}/act/{act}/")
    assert response.status_code == 503
    assert fault.message in html.unescape(response.content.decode())
    assert said in response.content.decode()
    assert unsaid not in response.content.decode()
    slurm.fault = None
    assert client.post(f"/t/aurora-lab/jobs/{job.pk}/act/{act}/").status_code == 302
