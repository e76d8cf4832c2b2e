"""The row of a job right after its submit: what was asked, in the observer's words, and never twice."""

from __future__ import annotations

import datetime as dt
import threading
import uuid

import pytest
from django.db import connection, transaction

from clusters.clients.slurmrest.models import JobId, SubmitRequest, SubmitResult
from clusters.models import Cluster, SlurmEndpoint
from jobs.models import Job, Submission
from jobs.observer import turns
from jobs.observer.leftovers import end_unseen
from jobs.observer.look import Memory, look
from jobs.services import submissions
from jobs.services.drafts import Typed
from portal.lib import clock
from tenants.models import Tenant, User
from tests.builders import actor_for
from tests.cases import case
from tests.jobs.builders import SCRIPT, make_job, make_slurm_cluster
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db


def submit(tenant: Tenant, alice: User, cluster: Cluster, script: str = SCRIPT, **fields: str) -> Job:
    made = submissions.submit_job(
        actor=actor_for(alice, tenant),
        cluster=cluster,
        typed=Typed(fields={"name": "train", **fields}, script=script),
        key=uuid.uuid4(),
    )
    assert made.job is not None
    return Job.objects.get(pk=made.job.pk)


def look_at(cluster: Cluster) -> None:
    look(SlurmEndpoint.objects.select_related("cluster").get(cluster=cluster), Memory())


def test_it_says_what_was_asked_and_what_the_partition_adds(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = submit(tenant, alice, cluster, gpus="a100:2", memory_mib="16G", stdout="out-%j.txt", comment="mine")
    assert slurm.asked == [], "nobody looked"
    assert (job.partition, job.time_limit_minutes, job.gpus, job.memory_mib) == ("train", 60, 2, 16384)
    assert (job.state, job.reason, job.comment, job.node_count) == ("PENDING", "", "mine", 1)
    assert job.stdout_path == f"{job.working_directory}/out-4711.txt"
    assert job.observed_at >= job.submit_time
    assert [event.state for event in job.events.all()] == ["PENDING"]


def test_an_array_is_one_line_at_once(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = submit(tenant, alice, cluster, array="0-3%2")
    assert (job.label, job.task_count, job.is_line) == ("4711_[0-3%2]", 4, True)
    assert (job.line_label, job.group_states) == ("4711", {"PENDING": 4})


def test_a_set_has_its_leader_at_once(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH hetjob\n#SBATCH --nodes=1\necho hello\n"
    job = submit(tenant, alice, cluster, script)
    assert (job.label, job.group_states) == ("4711+0", {"PENDING": 1})


def test_a_mark_that_stands_in_a_job_of_another_cluster_is_not_taken_for_it(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, take = make_slurm_cluster(tenant, name="gpu-b", nodes=1), slurm.submit

    def copied_there(request: SubmitRequest) -> SubmitResult:
        result = take(request)
        mark = Submission.objects.get().mark
        make_job(other, alice, slurm_job_id=result.job_id, mark=mark)  # as if it had been copied by hand
        return result

    monkeypatch.setattr(slurm, "submit", copied_there)
    job = submit(tenant, alice, cluster)
    assert job.cluster == cluster
    assert Job.objects.filter(mark=job.mark).count() == 2


@case("U10")
def test_a_look_that_began_before_the_answer_neither_ends_nor_doubles_it(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    began = clock.now()
    job = submit(tenant, alice, cluster)
    end_unseen(cluster, (), began)
    assert Job.objects.get().state == "PENDING"
    slurm.change(4711, state="RUNNING", reason="None", cpus=4, start_time=slurm.now())
    look_at(cluster)
    row = Job.objects.get()
    assert (row.pk, row.state, row.cpus) == (job.pk, "RUNNING", 4)


@case("U10")
def test_what_the_observer_saw_first_stands(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = slurm.submit

    def seen_before_the_answer(request: SubmitRequest) -> SubmitResult:
        result = take(request)
        slurm.change(result.job_id, state="RUNNING", start_time=slurm.now())
        look_at(cluster)
        return result

    monkeypatch.setattr(slurm, "submit", seen_before_the_answer)
    job = submit(tenant, alice, cluster)
    assert Job.objects.count() == 1
    assert (job.state, Submission.objects.get().job) == ("RUNNING", job)


def test_the_next_job_of_a_number_is_another_row(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = submit(tenant, alice, cluster)
    Job.objects.update(submit_time=clock.now() - dt.timedelta(days=400), state="COMPLETED")
    monkeypatch.setattr(slurm, "submit", lambda request: SubmitResult(job_id=JobId(4711)))
    second = submit(tenant, alice, cluster)
    assert first.pk != second.pk
    assert {first.slurm_job_id, second.slurm_job_id} == {4711}


@pytest.mark.django_db(transaction=True)
def test_a_submit_waits_while_the_observer_compares_and_submits_do_not_wait_for_each_other(
    cluster: Cluster,
) -> None:
    shared, done = threading.Event(), threading.Event()

    def add() -> None:
        with transaction.atomic():
            turns.share(cluster.pk)
            shared.set()
            done.wait(30)
        connection.close()

    with transaction.atomic():
        turns.take(cluster.pk)
        first = threading.Thread(target=add)
        first.start()
        assert not shared.wait(0.2)
    assert shared.wait(30)
    with transaction.atomic():
        turns.share(cluster.pk)  # beside the other one, which still has its turn
    done.set()
    first.join(30)
