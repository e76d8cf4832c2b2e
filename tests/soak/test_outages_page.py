"""Five pages of running jobs, whose clusters fall silent for two minutes, each in its own way."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.contract.slurmrest.lab import SlurmLab, slurm_lab
from tests.e2e import release_portal, walk
from tests.e2e.browser import Person
from tests.e2e.conftest import NewPerson
from tests.e2e.release_portal import RESEARCHER, SLUG, ReleasePortal
from tests.e2e.waiting import until
from tests.fixtures import started
from tests.jobs.outages import CTLD_STOPS, FAULTS, RUNS, silence
from tests.jobs.proxies import Front, front_of

pytestmark = [pytest.mark.soak, pytest.mark.slow]
LASTS = 120.0  # seconds
MOST_BACK = 10.0  # seconds: a poll of a watched cluster, and what slurmctld takes to start
USUAL = "MessageTimeout=10\n"  # Slurm's own default


@dataclass
class Open:
    """A page of a job that runs."""

    fault: str
    lab: SlurmLab
    front: Front
    page: Page
    silent: ExitStack = field(default_factory=ExitStack)
    as_of: str = ""
    returned: float = 0.0
    right: float = 0.0

    @property
    def says_so(self) -> Locator:
        """That the cluster does not answer."""
        return self.page.get_by_text("Cluster API not reachable since")

    @property
    def age(self) -> Locator:
        """As of when the page's facts are."""
        return self.page.locator("main .age[data-as-of]").first


@pytest.fixture
def portal_here(pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[ReleasePortal]:
    """Web process, observer and output reader."""
    with release_portal.running(pytestconfig.stash[started], tmp_path) as portal:
        yield portal


def opened(portal: ReleasePortal, person: Person, stack: ExitStack, fault: str, number: int) -> Open:
    """A cluster of its own, a job that runs in it, and a page of that job."""
    lab = stack.enter_context(
        slurm_lab(3, release="testing" if fault == CTLD_STOPS else "bookworm", more=USUAL)
    )
    front = stack.enter_context(front_of(lab.url))
    # a proxy that only hands on is no less a slurmrestd that stops or hangs to who asks through it
    url = lab.url if fault.startswith("slurm") else front.url
    cluster = stack.enter_context(portal.adopted(lab, name=f"silent-{number}", url=url))
    job = portal.hands.do("job", subject=RESEARCHER, cluster=cluster, script=RUNS, fields={"name": "runs"})[
        "job"
    ]
    page = person.page if number == 0 else person.context.new_page()
    if number:
        person.watch(page)
    page.goto(f"/t/{SLUG}/jobs/{job}/")
    walk.expect_state(page, "Running")
    walk.mark(page)
    return Open(fault, lab, front, page)


def is_as_it_was(one: Open) -> None:
    """The last known state, its age in grey, and since when nobody answers."""
    walk.expect_state(one.page, "Running", within=1000)
    expect(one.says_so).to_be_visible(timeout=1000)
    expect(one.age).to_have_class(re.compile(r"\blate\b"), timeout=1000)
    expect(one.age).to_contain_text("not reachable since", timeout=1000)
    assert one.age.get_attribute("data-as-of") == one.as_of, "the age grows"


def test_pages_say_for_two_minutes_that_nobody_answers_and_are_right_soon_after(
    portal_here: ReleasePortal, new_person: NewPerson
) -> None:
    person = new_person(portal_here.url)
    # a region asks for its version every 30 s, and meanwhile the socket may bring it
    for aborted in ("htmx:sendAbort", "htmx:afterRequest"):
        person.allow(aborted)
    person.enter(portal_here.hands.do("cookie", subject=RESEARCHER)["sessionid"])
    with ExitStack() as stack:
        pages = [opened(portal_here, person, stack, fault, number) for number, fault in enumerate(FAULTS)]
        began = time.monotonic()
        for one in pages:
            stack.callback(one.silent.close)
            one.silent.enter_context(silence(one.fault, one.lab, one.front))
        for one in pages:
            expect(one.says_so).to_be_visible(timeout=walk.MOVED)
            print(f"{one.fault}: the page says so after {time.monotonic() - began:.1f} s at the latest")
            one.as_of = one.age.get_attribute("data-as-of") or ""
        while time.monotonic() < began + LASTS:
            for one in pages:
                is_as_it_was(one)
            pages[0].page.wait_for_timeout(2000)
        come_back(pages)
        for one in pages:
            walk.expect_state(one.page, "Running")
            expect(one.age).not_to_have_class(re.compile(r"\blate\b"))
            assert walk.is_marked(one.page)
        assert person.unexpected() == []


def come_back(pages: list[Open]) -> None:
    """All at once, and until each page says nothing of a silence any more."""
    for one in pages:
        one.silent.close()
        one.returned = time.monotonic()

    def all_right() -> bool:
        for one in pages:
            if not one.right and not one.says_so.is_visible():
                one.right = time.monotonic()
        return all(one.right for one in pages)

    until(all_right, "all pages are right", seconds=90, pause=0.1)
    for one in pages:
        print(f"{one.fault}: the page is right {one.right - one.returned:.1f} s after the return")
    assert max(one.right - one.returned for one in pages) < MOST_BACK
