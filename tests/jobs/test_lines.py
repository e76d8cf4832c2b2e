"""An array and a het job are one line in lists, whatever order their rows come in, and are counted right."""

from __future__ import annotations

import pytest

from clusters.models import Cluster
from jobs.models import Job
from jobs.observer import lines
from tenants.models import User
from tests.cases import case
from tests.jobs.builders import make_job

pytestmark = pytest.mark.django_db


def seen(cluster: Cluster, *rows: Job) -> None:
    """As the observer does after it wrote them."""
    for row in rows:
        Job.objects.filter(pk=row.pk).update(is_line=not lines.is_behind(row))
    lines.fold(rows)


def shown() -> dict[int, tuple[str, dict[str, int] | None]]:
    """The lines by Slurm's id: state, and how many tasks in each."""
    return {row.slurm_job_id: (row.line_state, row.group_states) for row in Job.objects.filter(is_line=True)}


def task(cluster: Cluster, owner: User, number: int, own: int, state: str = "RUNNING") -> Job:
    return make_job(cluster, owner, state=state, slurm_job_id=own, array_job_id=500, array_task_id=number)


@case("U12")
def test_an_array_is_one_line_that_counts_its_tasks(cluster: Cluster, alice: User) -> None:
    rest = make_job(
        cluster,
        alice,
        state="PENDING",
        slurm_job_id=500,
        array_job_id=500,
        array_tasks="8-10%2",
        task_count=3,
    )
    done = [task(cluster, alice, number, 500 + number, "COMPLETED") for number in range(1, 6)]
    failed = task(cluster, alice, 6, 506, "FAILED")
    runs = task(cluster, alice, 7, 507)
    seen(cluster, rest, *done, failed, runs)
    assert shown() == {500: ("RUNNING", {"PENDING": 3, "RUNNING": 1, "COMPLETED": 5, "FAILED": 1})}

    # the last task keeps the array's own id; it may end before others do
    Job.objects.filter(pk=rest.pk).update(state="COMPLETED", array_task_id=10, array_tasks="", task_count=1)
    rest.refresh_from_db()
    seen(cluster, rest)
    assert shown() == {500: ("RUNNING", {"RUNNING": 1, "COMPLETED": 6, "FAILED": 1})}
    Job.objects.filter(pk=runs.pk).update(state="COMPLETED")
    seen(cluster, runs)
    assert shown() == {500: ("FAILED", {"COMPLETED": 7, "FAILED": 1})}


def test_tasks_whose_array_was_never_seen_are_a_line_until_it_is(cluster: Cluster, alice: User) -> None:
    one, two = task(cluster, alice, 1, 501), task(cluster, alice, 2, 502)
    seen(cluster, one, two)
    (stand_in,) = shown().items()
    assert stand_in[1] == ("RUNNING", {"RUNNING": 2})
    seen(cluster, two)
    assert shown() == dict([stand_in])
    last = task(cluster, alice, 3, 500, "PENDING")
    seen(cluster, last)
    assert shown() == {500: ("RUNNING", {"RUNNING": 2, "PENDING": 1})}
    assert set(Job.objects.filter(is_line=False).values_list("line_state", flat=True)) == {"RUNNING"}


@case("U12")
def test_the_parts_of_a_het_job_are_one_line(cluster: Cluster, alice: User) -> None:
    parts = [make_job(cluster, alice, slurm_job_id=900 + n, het_job_id=900, het_offset=n) for n in range(2)]
    seen(cluster, *parts)
    assert shown() == {900: ("RUNNING", {"RUNNING": 2})}


def test_jobs_of_their_own_are_left_alone(cluster: Cluster, alice: User) -> None:
    job = make_job(cluster, alice, state="FAILED")
    seen(cluster, job)
    assert shown() == {job.slurm_job_id: ("FAILED", None)}
