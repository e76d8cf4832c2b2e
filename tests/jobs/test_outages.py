"""A real cluster whose daemons stop, hang or talk nonsense in mid-run: no job is shown as ended by it."""

from __future__ import annotations

import datetime as dt
import http.client
import os
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

import pytest

from clusters.clients.slurmrest import tokens
from clusters.drivers.local import daemons
from clusters.models import SlurmEndpoint
from jobs import outside
from jobs.models import Job
from jobs.observer import sources
from jobs.observer.loop import claim, observe
from jobs.observer.sources import Memory
from jobs.services import submissions
from jobs.services.drafts import Typed
from portal.lib import clock
from tests.cases import case
from tests.contract.driver_contract import settle
from tests.jobs.proxies import Fault, broken_slurm, serving
from tests.jobs.real import RealCluster, real_cluster

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SLEEP = "#!/bin/bash\nsleep 300\n"


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[RealCluster]:
    with real_cluster() as cluster:
        monkeypatch.setattr(outside, "DEADLINE", 2.0)
        yield cluster


def submit(slurm: RealCluster) -> Job:
    made = submissions.submit_job(
        actor=slurm.actor, cluster=slurm.cluster, typed=Typed(script=SLEEP), key=uuid.uuid4()
    )
    assert made.job is not None
    return slurm.wait_for(made.job, "RUNNING")


def observed(slurm: RealCluster) -> SlurmEndpoint:
    """What the observer does, and the endpoint after it."""
    claimed = claim(slurm.cluster.slurm.pk)
    assert claimed is not None
    observe(claimed, {slurm.cluster.pk: slurm.memory})
    endpoint = SlurmEndpoint.objects.get(pk=claimed.endpoint_id)
    assert endpoint.next_observe_at is not None
    SlurmEndpoint.objects.filter(pk=endpoint.pk).update(next_observe_at=clock.now() - dt.timedelta(seconds=1))
    return endpoint


def pid_of(slurm: RealCluster, kind: str) -> int:
    conf = slurm.context.facts["slurm"]["slurm_conf"]
    (found,) = (one.record.pid for one in daemons.find(conf.__eq__) if one.kind == kind)
    return found


@contextmanager
def frozen(slurm: RealCluster, kind: str) -> Iterator[None]:
    """The daemon takes connections and answers nothing for the duration of the block."""
    pid = pid_of(slurm, kind)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def spoken_by(slurm: RealCluster, url: str) -> Iterator[None]:
    """Another server in the place of the cluster's slurmrestd."""
    SlurmEndpoint.objects.filter(cluster=slurm.cluster).update(url=url)
    try:
        yield
    finally:
        SlurmEndpoint.objects.filter(cluster=slurm.cluster).update(url=slurm.cluster.slurm.url)


@contextmanager
def late_proxy(target: str, seconds: float) -> Iterator[str]:
    """Hands every request on, that much later."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        upstream = http.client.HTTPConnection(urlsplit(target).netloc, timeout=20)
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        upstream.request(request.command, request.path, None, headers)
        got = upstream.getresponse()
        body = got.read()
        request.send_response(got.status)
        request.send_header("Content-Type", got.headers.get("Content-Type", "text/plain"))
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
        upstream.close()

    with serving(answer) as url:
        yield url


def still_runs(slurm: RealCluster, job: Job, *, looks: int = 2) -> None:
    """Whatever is tried, nothing is shown as ended, and since when nobody answers is told."""
    before = SlurmEndpoint.objects.get(cluster=slurm.cluster).observed_at
    for _ in range(looks):
        endpoint = observed(slurm)
        assert endpoint.unreachable_since is not None
        assert endpoint.observed_at == before, "the age grows"
        assert Job.objects.get(pk=job.pk).state == "RUNNING"


def is_right_at_once(slurm: RealCluster, job: Job) -> None:
    """One look after the return tells what happened meanwhile."""
    endpoint = observed(slurm)
    assert endpoint.unreachable_since is None
    assert Job.objects.get(pk=job.pk).state == "RUNNING"


@case("U16")
@pytest.mark.parametrize("by", ["list", "console"])
def test_a_slurmctld_that_stops_ends_no_job(
    slurm: RealCluster, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by == "console":
        monkeypatch.setattr(sources, "MOST_LISTED", 0)
        slurm.memory.records = None
    job, other = submit(slurm), submit(slurm)
    assert observed(slurm).source == by
    with frozen(slurm, "slurmctld"):
        still_runs(slurm, job)
    slurm.slurm("scancel", str(other.slurm_job_id))
    slurm.memory.whole.tried_at = None
    is_right_at_once(slurm, job)
    assert Job.objects.get(pk=other.pk).state in {"CANCELLED", "COMPLETING"}


@case("U16")
def test_a_slurmrestd_that_hangs_talks_nonsense_or_dies_ends_no_job(slurm: RealCluster) -> None:
    job = submit(slurm)
    with frozen(slurm, "slurmrestd"):
        still_runs(slurm, job, looks=1)
    is_right_at_once(slurm, job)
    page = Fault(200, "text/html", b"<html><body>Sign in</body></html>")
    with broken_slurm(page) as url, spoken_by(slurm, url):
        still_runs(slurm, job)
    is_right_at_once(slurm, job)
    os.kill(pid_of(slurm, "slurmrestd"), signal.SIGKILL)
    still_runs(slurm, job)
    settle(slurm.lab.site["slurm"], slurm.context)
    is_right_at_once(slurm, job)


def test_a_token_that_ends_in_mid_poll_ends_no_job(
    slurm: RealCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, mint = submit(slurm), tokens.mint
    short = dt.timedelta(seconds=2)  # whole seconds are counted, so it lives for one at least
    monkeypatch.setattr(tokens, "mint", lambda name, key, **_: mint(name, key, lifetime=short))
    # each request has a token of its own, so a look may last longer than one of them
    slurm.memory = Memory()
    with late_proxy(slurm.cluster.slurm.url, 0.6) as url, spoken_by(slurm, url):
        began = time.monotonic()
        is_right_at_once(slurm, job)
        assert time.monotonic() - began > short.total_seconds()
    monkeypatch.setattr(outside, "DEADLINE", 5.0)
    with late_proxy(slurm.cluster.slurm.url, 3.2) as url, spoken_by(slurm, url):
        still_runs(slurm, job, looks=1)
    is_right_at_once(slurm, job)
