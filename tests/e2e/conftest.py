"""Fixtures of the whole-process tests: one portal and one browser a group, profiles a test.

They last as long as a worker stays in this folder, so that nothing of them runs beside other tests, and
Playwright's loop does not meet the loops of those.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress

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

NewPerson = Callable[..., Person]
# what needs no cluster of the big portal need not wait for it
PAGES = ("test_signin_strict", "test_page_script", "test_api_reference", "test_editor", "test_output_script")
GROUPS = {
    "test_running": "killed portal",
    "test_recovery": "killed portal",
    "test_releases": "releases",
    "test_accessibility": "scene",
    **dict.fromkeys(PAGES, "pages"),
}
portal_of = pytest.StashKey[supervised.Portal]()
people_of = pytest.StashKey[list[Person]]()


def pytest_itemcollected(item: pytest.Item) -> None:
    """All of this folder is slow. Two groups have the processes of `make run`; one of them kills these."""
    item.add_marker(pytest.mark.slow)
    item.add_marker(pytest.mark.xdist_group(GROUPS.get(item.path.stem, "portal")))
    item.add_marker(pytest.mark.timeout(900))


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


@pytest.fixture(scope="package")
def portal(request: pytest.FixtureRequest) -> Iterator[supervised.Portal]:
    """The processes of `make run`."""
    with supervised.running() as running:
        request.session.stash[portal_of] = running
        yield running
        del request.session.stash[portal_of]


@pytest.fixture(scope="module", autouse=True)
def cleared(request: pytest.FixtureRequest) -> None:
    """Before each module the clusters of the one before are removed: the demo's site has few machines."""
    if portal_of in request.session.stash and GROUPS.get(request.path.stem, "portal") == "portal":
        hands: Hands = request.getfixturevalue("hands")
        until(
            lambda: hands.tried("clear").get("left") == 0, "all clusters are removed", seconds=300, pause=0.3
        )


@pytest.fixture(scope="package")
def hands(portal: supervised.Portal) -> Iterator[Hands]:
    """Acts in the portal's database through the services."""
    with hands_of(portal) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium."""
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


@pytest.fixture(scope="package")
def strict_portal(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[small_portal.SmallPortal]:
    """A web process in front of npm oidc-provider. Nora founds no tenant; who needs one is somebody else."""
    url = small_portal.address()
    people = {"nora": "Nora Berg", "lena": "Lena Holm", "tara": "Tara Lind", "otto": "Otto Brandt"}
    accounts = {
        subject: {"name": name, "email": f"{subject}@example.org", "email_verified": True}
        for subject, name in people.items()
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
