"""Pages that are open while something behind them is killed recover by themselves."""

from __future__ import annotations

import os
import re
import signal
import time
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.cases import case
from tests.e2e import walk
from tests.e2e.conftest import NewPerson
from tests.e2e.hands import Hands
from tests.e2e.supervised import Portal
from tests.e2e.waiting import until

SLEEPER = "#!/bin/bash\nsleep 300\n"


@pytest.fixture(scope="module")
def place(hands: Hands) -> tuple[str, str, str]:
    """A tenant with a ready cluster: slug, cluster's id, external name."""
    slug = f"faye-{uuid.uuid4().hex[:6]}"
    hands.do("found", subject="faye", slug=slug)
    cluster = hands.approved("faye", slug, "gpu-a")
    return slug, cluster, hands.wait_for(cluster, "ready")["name"]


def submit(hands: Hands, cluster: str, name: str) -> str:
    """A job that sleeps; its id."""
    sent = hands.do("job", subject="faye", cluster=cluster, script=SLEEPER, fields={"name": name})
    return str(sent["job"])


def until_saved(portal: Portal, hands: Hands, cluster: str, name: str) -> str:
    """Wait until slurmctld has written its jobs down, some seconds after a new one, whose id it gives."""
    began = time.time()
    change = submit(hands, cluster, "a-change")
    saved = portal.data / "clusters" / name / "state" / "job_state"
    until(lambda: saved.exists() and saved.stat().st_mtime > began, "slurmctld saves its jobs", seconds=120)
    return change


@pytest.fixture
def open_job(
    portal: Portal, hands: Hands, place: tuple[str, str, str], new_person: NewPerson
) -> tuple[str, Page]:
    """A running job with its page open, the socket up and the window marked."""
    slug, cluster, _ = place
    job = submit(hands, cluster, f"job-{uuid.uuid4().hex[:4]}")
    someone = new_person(portal.url)
    someone.enter(hands.do("cookie", subject="faye")["sessionid"])
    someone.allow("WebSocket connection to")
    someone.allow("Failed to load resource: net::ERR_")  # refused, reset, empty, gone
    someone.allow("htmx:")
    someone.allow("[object Event]")  # what htmx says of a socket that was closed
    page = someone.page
    page.goto(f"/t/{slug}/jobs/{job}/")
    walk.expect_state(page, "Running")
    expect(page.locator("body")).to_have_attribute("data-live", "up")
    walk.mark(page)
    return job, page


def test_a_page_survives_the_web_process(portal: Portal, hands: Hands, open_job: tuple[str, Page]) -> None:
    job, page = open_job
    old = portal.kill("web")
    expect(page.locator("body")).not_to_have_attribute("data-live", "up", timeout=60_000)
    portal.wait_for_new("web", old)
    expect(page.locator("body")).to_have_attribute("data-live", "up", timeout=walk.MOVED)
    hands.do("cancel", subject="faye", job=job)
    walk.expect_state(page, "Cancelled")
    assert walk.is_marked(page)


def test_a_page_survives_the_observer(portal: Portal, hands: Hands, open_job: tuple[str, Page]) -> None:
    job, page = open_job
    # one that dies in the middle of a look is missed until its lease ends, two minutes later
    leases = "SELECT count(*) FROM clusters_slurmendpoint WHERE lease_until > now()"
    until(lambda: portal.value(leases) == 0, "no look is under way", seconds=180)
    old = portal.kill("observer")
    hands.do("cancel", subject="faye", job=job)
    walk.expect_state(page, "Cancelled")
    portal.wait_for_new("observer", old)
    assert walk.is_marked(page)


def test_a_page_survives_redis(portal: Portal, hands: Hands, open_job: tuple[str, Page]) -> None:
    job, page = open_job
    old = portal.kill("redis")
    portal.wait_for_new("redis", old)
    hands.do("cancel", subject="faye", job=job)
    walk.expect_state(page, "Cancelled")
    assert walk.is_marked(page)


@case("U16")
def test_a_page_says_that_slurm_is_away_and_jobs_live_on(
    portal: Portal, hands: Hands, place: tuple[str, str, str], open_job: tuple[str, Page]
) -> None:
    _, cluster, name = place
    job, page = open_job
    change = until_saved(portal, hands, cluster, name)
    daemon = next(pid for pid in portal.daemons("slurmctld") if portal.names(pid, name))
    stopped = [pid for pid in portal.daemons("slurmrestd") if portal.names(pid, name)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)  # so that the outage lasts until the page has told of it
    os.kill(daemon, signal.SIGKILL)
    try:
        region = page.get_by_text(re.compile("not reachable since", re.IGNORECASE)).first
        expect(region).to_be_visible(timeout=walk.MOVED)
        expect(walk.state(page)).to_have_text(re.compile("Running"))
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)

    def again() -> bool:
        return any(pid != daemon and portal.names(pid, name) for pid in portal.daemons("slurmctld"))

    until(again, "slurmctld is started again", seconds=120)
    expect(page.get_by_text(re.compile("API not reachable since"))).to_have_count(0, timeout=walk.MOVED)
    assert hands.do("job_state", job=job)["state"] == "RUNNING"
    hands.do("cancel", subject="faye", job=job)
    walk.expect_state(page, "Cancelled")
    hands.wait_for(cluster, "ready")
    hands.tried("cancel", subject="faye", job=change)  # it would keep a node from the jobs of other tests
    assert walk.is_marked(page)
