"""Submitting, following and ending jobs on a real Slurm."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest
from django.db import connection

from jobs.examples import EXAMPLES
from jobs.models import Job, Submission
from jobs.services import actions, leavers, submissions
from jobs.services.drafts import Typed
from portal.lib.errors import WrongState
from tenants.models import Membership, Tenant
from tenants.services import members
from tests.builders import actor_for
from tests.cases import case
from tests.clusters.builders import owner_of
from tests.jobs.names import ODD_NAMES
from tests.jobs.proxies import lossy_proxy
from tests.jobs.real import RealCluster, real_cluster

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SLEEP = "#!/bin/bash\nsleep 300\n"


@pytest.fixture
def slurm() -> Iterator[RealCluster]:
    with real_cluster() as cluster:
        yield cluster


def submit(slurm: RealCluster, script: str, *, key: uuid.UUID | None = None, **fields: str) -> Job:
    made = submissions.submit_job(
        actor=slurm.actor,
        cluster=slurm.cluster,
        typed=Typed(fields=fields, script=script),
        key=key or uuid.uuid4(),
    )
    assert made.job is not None
    return made.job


@case("U08")
def test_a_job_is_followed_from_the_form_to_its_end(slurm: RealCluster) -> None:
    slurm.look()
    job = submit(
        slurm, "#!/bin/bash\necho $CUDA_VISIBLE_DEVICES\nsleep 1\nexit 3\n", gpus="2", partition="train"
    )
    running = slurm.wait_for(job, "RUNNING")
    assert (running.gpus, running.owner) == (2, slurm.member)
    ended = slurm.wait_for(job, "FAILED")
    assert (ended.exit_status, ended.exit_signal) == (3, 0)
    assert ended.start_time and ended.end_time and ended.start_time <= ended.end_time
    states = list(ended.events.values_list("state", flat=True))
    assert [states[0], states[-1]] == ["PENDING", "FAILED"]
    assert Job.objects.count() == 1
    submission = Submission.objects.get()
    assert {"account", "qos", "reservation", "dependency", "nodes"}.isdisjoint(submission.request)


@case("U10")
def test_two_presses_at_once_make_one_job(slurm: RealCluster) -> None:
    key, results = uuid.uuid4(), []

    def press() -> None:
        try:
            results.append(
                submissions.submit_job(
                    actor=slurm.actor, cluster=slurm.cluster, typed=Typed(script=SLEEP), key=key
                ).pk
            )
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(results) == 2
    assert len(set(results)) == 1
    slurm.look()
    assert Job.objects.count() == 1


@case("U10")
def test_a_lost_answer_is_found_by_its_mark_and_nothing_runs_twice(slurm: RealCluster) -> None:
    with lossy_proxy(slurm.cluster.slurm.url) as url:
        type(slurm.cluster.slurm).objects.update(url=url)
        made = submissions.submit_job(
            actor=slurm.actor, cluster=slurm.cluster, typed=Typed(script=SLEEP), key=uuid.uuid4()
        )
    assert (made.state, made.job) == ("checking", None)
    type(slurm.cluster.slurm).objects.update(url=slurm.cluster.slurm.url)
    again = submissions.submit_job(
        actor=slurm.actor, cluster=slurm.cluster, typed=Typed(script=SLEEP), key=made.key
    )
    assert again.pk == made.pk
    slurm.look()
    made.refresh_from_db()
    assert made.state == "accepted"
    assert made.job == Job.objects.get()
    assert made.slurm_job_id == made.job.slurm_job_id


@case("U12")
def test_cancelling_one_task_leaves_the_others(slurm: RealCluster) -> None:
    submit(slurm, SLEEP, array="1-4", cpus_per_task="2")
    running = slurm.look_until(lambda: Job.objects.filter(state="RUNNING", array_task_id=3).first())
    slurm.look_until(lambda: Job.objects.filter(state="RUNNING").count() == 4)
    cancelled = actions.cancel_job(actor=slurm.actor, job=running)
    slurm.wait_for(cancelled, "CANCELLED")
    others = dict(Job.objects.exclude(pk=cancelled.pk).values_list("array_task_id", "state"))
    assert others == dict.fromkeys([1, 2, 4], "RUNNING")


@case("U12")
def test_the_waiting_rest_of_an_array_counts_as_its_tasks(slurm: RealCluster) -> None:
    job = submit(slurm, SLEEP, array="1-10%2", cpus_per_task="1")
    folded = slurm.look_until(lambda: Job.objects.filter(array_task_id=None, task_count=8).first())
    assert folded.pk == job.pk
    slurm.cluster.slurm.refresh_from_db()
    assert (slurm.cluster.slurm.jobs_running, slurm.cluster.slurm.jobs_pending) == (2, 8)


@case("U03")
def test_no_job_vanishes_because_of_its_name(slurm: RealCluster) -> None:
    for name in ODD_NAMES:
        submit(slurm, SLEEP, name=name)
    slurm.look()
    assert sorted(Job.objects.values_list("name", flat=True)) == sorted(ODD_NAMES)


@case("U31")
def test_cancelling_twice_says_that_it_ended(slurm: RealCluster) -> None:
    job = submit(slurm, SLEEP)
    slurm.wait_for(job, "RUNNING")
    actions.cancel_job(actor=slurm.actor, job=job)
    ended = slurm.wait_for(job, "CANCELLED")
    with pytest.raises(WrongState, match="already ended"):
        actions.cancel_job(actor=slurm.actor, job=ended)


def test_jobs_of_a_suspended_member_end_as_theirs_where_the_tenant_wants_it(slurm: RealCluster) -> None:
    tenant = slurm.cluster.tenant
    Tenant.objects.filter(pk=tenant.pk).update(cancel_jobs_on_leave=True)
    owner = actor_for(owner_of(tenant), tenant)
    acting, running = slurm.actor, submit(slurm, SLEEP)
    slurm.wait_for(running, "RUNNING")
    members.suspend_member(actor=owner, membership=Membership.objects.get(user=slurm.member))
    row = Membership.objects.get(user=slurm.member)
    leavers.cancel_of_leaver(row.pk)
    slurm.wait_for(running, "CANCELLED")
    with pytest.raises(WrongState):
        submissions.submit_job(
            actor=acting, cluster=slurm.cluster, typed=Typed(script=SLEEP), key=uuid.uuid4()
        )
    slurm.look()
    assert Job.objects.count() == 1


def test_each_built_in_template_runs_as_it_is(slurm: RealCluster) -> None:
    slurm.look()
    made = [
        submissions.submit_job(
            actor=slurm.actor,
            cluster=slurm.cluster,
            typed=Typed(fields=known.fields, script=known.as_it_is, environment="STEPS=1"),
            key=uuid.uuid4(),
        )
        for known in EXAMPLES
    ]
    for known, submission in zip(EXAMPLES, made, strict=True):
        assert submission.job is not None
        ended = slurm.wait_for(submission.job, "COMPLETED")
        assert ended.exit_status == 0, known.name
