"""A queue longer than can be listed, on a real Slurm: the job that somebody watches does not wait for it."""

from __future__ import annotations

import datetime as dt
import time

import pytest
from django.core.cache import cache

from jobs.models import Job
from jobs.observer import sources, whole
from jobs.observer.look import CONSOLE, STATES
from tests.jobs.long_queue import LongQueue, long_queue, until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
WATCHED, WHOLE = 15.0, 60.0  # seconds; three and ten of them are the pace, the rest is a busy machine


def follow(queue: LongQueue, count: int, *, watched: float, all_of_it: float, source: str = CONSOLE) -> None:
    """Fill, observe, and change one job that is watched and one that is not."""
    count = queue.fill(count)
    mine = queue.submit(name="watched")
    with queue.observed():
        rows = Job.objects.filter(cluster=queue.cluster)

        def holds_all() -> bool:
            queue.watch(mine)  # the page is open for as long as this takes
            return rows.count() == count + 1

        until(holds_all, seconds=120 + count / 200, what="all are rows")
        endpoints = type(queue.cluster.slurm).objects.filter(cluster=queue.cluster)
        until(lambda: endpoints.get().source == source, what="it is known as a whole")
        until(lambda: queue.state(mine) == "RUNNING", what="it runs")
        other = rows.filter(name="held 3").get().slurm_job_id
        queue.watch(mine)
        queue.lab.command("scancel", str(mine), str(other))
        began = time.monotonic()
        until(lambda: queue.state(mine) != "RUNNING", seconds=60, what="the watched one is seen to end")
        assert time.monotonic() - began < watched
        until(lambda: queue.state(other) == "CANCELLED", seconds=120, what="the other one is seen to end")
        assert time.monotonic() - began < all_of_it
    assert rows.filter(state="ENDED").count() == 0
    assert rows.filter(state="PENDING").count() == count - 1
    cache.clear()


def test_watched_jobs_are_on_time_whatever_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_LISTED", 200)
    monkeypatch.setattr(whole, "EVERY", dt.timedelta(seconds=3))
    with long_queue() as queue:
        follow(queue, 300, watched=WATCHED, all_of_it=WHOLE)


def test_without_a_console_a_newer_slurm_is_followed_by_its_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_LISTED", 60)
    monkeypatch.setattr(whole, "EVERY", dt.timedelta(seconds=3))
    with long_queue(release="trixie", console=False) as queue:
        follow(queue, 100, watched=WATCHED, all_of_it=WHOLE, source=STATES)
