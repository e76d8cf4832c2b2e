"""One act on several jobs: asked first, each looked up again within the tenant, each told what happened."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import pytest
from django.test import Client

from clusters.clients.slurmrest import errors
from clusters.models import Cluster
from jobs.models import Job
from jobs.services import selections
from jobs.services.acts import ACTS
from portal.lib.errors import BadInput, NotAllowed
from tenants.models import AuditEvent, Role, Tenant, User
from tests.api.calls import make_token, send
from tests.builders import actor_for, make_member, make_tenant, sign_in
from tests.cases import case
from tests.jobs.builders import make_job, make_slurm_cluster
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db
ACT = "/t/aurora-lab/jobs/act/"
LIST = "/t/aurora-lab/jobs/"


def results(user: User, tenant: Tenant, jobs: Iterable[Job], act: str = "cancel") -> list[str]:
    keys = [job.pk for job in jobs]
    found = selections.act_on(actor=actor_for(user, tenant), act=ACTS[act], keys=keys)
    assert [outcome.key for outcome in found] == keys
    return [outcome.result.value for outcome in found]


@case("U31")
def test_only_the_chosen_ones_are_meant_and_what_ended_meanwhile_is_told(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    chosen = [make_job(cluster, alice, name=f"chosen-{number}") for number in range(3)]
    make_job(cluster, alice, name="not chosen")
    sign_in(client, alice)
    form = {
        "act": "cancel",
        "job": [str(job.pk) for job in chosen],
        "next": "/t/aurora-lab/jobs/?state=running",
    }
    question = client.post(ACT, form).content.decode()
    assert "Cancel these 3 jobs?" in question
    assert all(job.name in question for job in chosen)
    assert "not chosen" not in question
    assert slurm.cancelled == []
    # between the question and the answer
    Job.objects.filter(pk=chosen[1].pk).update(state="COMPLETED")
    for number in range(5):
        make_job(cluster, alice, name=f"new-{number}")
    page = client.post(ACT, {**form, "confirm": "1"}).content.decode()
    assert [address for _, address in slurm.cancelled] == [str(chosen[n].slurm_job_id) for n in (0, 2)]
    assert "done for 2 of 3" in page
    assert page.count("Already ended") == 1
    assert 'href="/t/aurora-lab/jobs/?state=running"' in page
    assert AuditEvent.objects.filter(verb="job.cancelled").count() == 2


@case("U31")
def test_ids_of_another_tenant_do_not_exist_and_others_jobs_are_not_permitted(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    other = make_tenant("Other Lab")
    stranger = make_job(make_slurm_cluster(other, name="theirs"), make_member(other, Role.OWNER))
    bob = make_member(tenant, Role.MEMBER)
    jobs = [
        make_job(cluster, alice),
        make_job(cluster, bob),
        stranger,
        make_job(cluster, alice, state="FAILED"),
    ]
    assert results(alice, tenant, jobs) == ["done", "not_permitted", "not_found", "ended"]
    assert [address for _, address in slurm.cancelled] == [str(jobs[0].slurm_job_id)]
    assert results(make_member(tenant, Role.ADMIN), tenant, jobs[1:3]) == ["done", "not_found"]
    with pytest.raises(NotAllowed):
        results(make_member(tenant, Role.VIEWER), tenant, jobs)


@case("U12")
def test_a_line_of_an_array_means_all_of_it_and_is_asked_for_once(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    # the line is the last task, which ended; another one runs
    line = make_job(cluster, alice, state="FAILED", slurm_job_id=500, array_job_id=500, array_task_id=3)
    task = make_job(cluster, alice, slurm_job_id=501, array_job_id=500, array_task_id=1)
    Job.objects.filter(pk=line.pk).update(
        is_line=True, group_states={"FAILED": 1, "RUNNING": 1}, group_state="RUNNING"
    )
    Job.objects.filter(pk=task.pk).update(is_line=False)
    assert results(alice, tenant, [line, task]) == ["done", "done"]
    assert [address for _, address in slurm.cancelled] == ["500", "500_1"]
    sets = [
        make_job(cluster, alice, slurm_job_id=900 + part, het_job_id=900, het_offset=part) for part in (0, 1)
    ]
    assert results(alice, tenant, sets) == ["done", "done_with_other"]
    assert [address for _, address in slurm.cancelled][2:] == ["900"]


def test_a_silent_cluster_is_waited_for_once(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    jobs = [make_job(cluster, alice) for _ in range(3)]
    slurm.fault = errors.NotReachable()
    assert results(alice, tenant, jobs) == ["unreachable"] * 3
    assert AuditEvent.objects.filter(verb="job.cancelled").count() == 1
    slurm.fault = errors.Unclear("hung up")
    assert results(alice, tenant, jobs) == ["unclear"] * 3


def test_what_is_no_selection_is_refused(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    sign_in(client, alice)
    job = make_job(cluster, alice)
    for ids in ([], ["x"], [str(uuid.uuid4()) for _ in range(selections.MOST + 1)]):
        answer = client.post(
            ACT, {"act": "cancel", "job": ids, "next": "https://evil.example/", "confirm": "1"}
        )
        assert (answer.status_code, answer["Location"]) == (302, LIST)
    assert client.post(ACT, {"act": "change", "job": [str(job.pk)]}).status_code == 404
    assert client.get(ACT).status_code == 405
    assert slurm.cancelled == []
    with pytest.raises(BadInput):
        selections.act_on(actor=actor_for(alice, cluster.tenant), act=ACTS["change"], keys=[job.pk])


def test_by_api(slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster) -> None:
    token, job = make_token(alice, tenant), make_job(cluster, alice, state="PENDING", slurm_job_id=12)
    body = {"act": "hold", "jobs": [str(job.pk), str(uuid.uuid4())]}
    answer = send(token, "post", "/api/v1/t/aurora-lab/jobs/act/", body)
    assert answer.status_code == 200, answer.content
    assert [item["outcome"] for item in answer.json()["items"]] == ["done", "not_found"]
    one = send(
        token,
        "post",
        f"/api/v1/t/aurora-lab/jobs/{job.pk}/act/",
        {"act": "change", "changes": {"time_limit_minutes": "90"}},
    )
    assert one.status_code == 200, one.content
    assert (one.json()["job"]["slurm_job_id"], one.json()["differs"]) == (12, [])
    assert [changes.asked for _, changes in slurm.changed] == [{"hold"}, {"time_limit_minutes"}]
    wrong = send(
        token,
        "post",
        f"/api/v1/t/aurora-lab/jobs/{job.pk}/act/",
        {"act": "change", "changes": {"user": "root"}},
    )
    assert wrong.status_code == 400
