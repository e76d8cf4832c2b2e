"""50,000 separate jobs that wait, and a slurmctld that is gone for two minutes: the long forms."""

from __future__ import annotations

import resource
import time

import pytest

from jobs.models import Job
from jobs.observer.pace import note_watched
from tests.jobs.long_queue import long_queue, until
from tests.jobs.test_long_queue import follow

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]
MOST_MIB = 400  # that the process may grow by: a list of 50,000 would take gigabytes


@pytest.mark.timeout(1800)
def test_50_000_jobs_do_not_make_a_watched_one_late() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with long_queue() as queue:
        follow(queue, 50_000, watched=6.0, all_of_it=30.0)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MOST_MIB


def test_two_minutes_without_slurmctld_end_no_job() -> None:
    with long_queue() as queue:
        mine = queue.submit()
        with queue.observed():
            note_watched([queue.cluster.pk])
            until(lambda: queue.state(mine) == "RUNNING", what="it runs")
            end = time.monotonic() + 120
            with queue.lab.without_controller():
                while time.monotonic() < end:
                    note_watched([queue.cluster.pk])
                    assert queue.state(mine) == "RUNNING"
                    time.sleep(1)
                endpoint = type(queue.cluster.slurm).objects.get(cluster=queue.cluster)
                assert endpoint.unreachable_since is not None
            queue.lab.command("scancel", str(mine))
            until(lambda: queue.state(mine) == "CANCELLED", seconds=40, what="all is right again")
        assert not Job.objects.filter(state="ENDED").exists()
