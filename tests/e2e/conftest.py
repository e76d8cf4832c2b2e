"""Fixtures of the whole-process tests: one portal a session, one browser a module, profiles a test."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from playwright.sync_api import Error as PlaywrightError

from tests.e2e import browser as browsers
from tests.e2e import node_provider, small_portal, supervised
from tests.e2e.browser import Person
from tests.e2e.hands import Hands
from tests.e2e.hands import of as hands_of
from tests.e2e.waiting import until
from tests.fixtures import started

HERE = Path(__file__).parent
NewPerson = Callable[..., Person]
GROUPS = {"test_running": "killed portal", "test_recovery": "killed portal", "test_releases": "releases"}
portal_of = pytest.StashKey[supervised.Portal]()
people_of = pytest.StashKey[list[Person]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of this folder is slow. Of three groups one uses a portal, one kills it, one has own clusters."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group(GROUPS.get(item.path.stem, "portal")))
            item.add_marker(pytest.mark.timeout(420))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what the pages show beside a failure."""
    report = yield
    if report.when == "call" and report.failed:
        people = item.stash.get(people_of, None) or []
        for number, someone in enumerate(people):
            with suppress(PlaywrightError):
                text = someone.page.locator("body").inner_text(timeout=2000)
                shown = f"{someone.page.url}\n{someone.faults}\n\n{text[:3000]}"
                report.sections.append((f"page of person {number}", shown))
        if isinstance(portal := getattr(item, "funcargs", {}).get("portal"), supervised.Portal):
            report.sections.append(("what the portal said", portal.said()))
    return report


@pytest.fixture(scope="session")
def portal(request: pytest.FixtureRequest) -> Iterator[supervised.Portal]:
    """The processes of `make run`."""
    with supervised.running() as running:
        request.session.stash[portal_of] = running
        yield running


@pytest.fixture(scope="module", autouse=True)
def cleared(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each module its clusters are removed: the demo's site has few machines."""
    yield
    if running := request.session.stash.get(portal_of, None):
        with hands_of(running) as hands:
            until(
                lambda: hands.tried("clear").get("left") == 0,
                "all clusters are removed",
                seconds=200,
                pause=1,
            )


@pytest.fixture(scope="session")
def hands(portal: supervised.Portal) -> Iterator[Hands]:
    """Acts in the portal's database through the services."""
    with hands_of(portal) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for one module: Playwright's loop must not meet the loops of other tests."""
    with browsers.chromium() as running:
        yield running


@pytest.fixture
def new_person(browser: Browser, request: pytest.FixtureRequest) -> Iterator[NewPerson]:
    """Makes browser profiles; each is checked for faults when the test ends."""
    made: list[Person] = request.node.stash.setdefault(people_of, [])
    with ExitStack() as stack:

        def make(url: str, *, javascript: bool = True, width: int = 1280) -> Person:
            profile = browsers.person(browser, url, javascript=javascript, width=width)
            made.append(stack.enter_context(profile))
            return made[-1]

        yield make


@pytest.fixture(scope="module")
def strict_portal(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[small_portal.SmallPortal]:
    """A web process in front of npm oidc-provider."""
    url = small_portal.address()
    accounts = {
        "nora": {"name": "Nora Berg", "email": "nora@example.org", "email_verified": True},
        "otto": {"name": "Otto Brandt", "email": "otto@example.org", "email_verified": True},
    }
    with (
        node_provider.running(url, accounts) as provider,
        small_portal.running(
            url,
            provider,
            pytestconfig.stash[started],
            tmp_path_factory.mktemp("small"),
            operators=f"{provider.issuer}|otto",
        ) as running,
    ):
        yield running
