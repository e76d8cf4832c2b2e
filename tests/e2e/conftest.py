"""Fixtures of the whole-process tests: one portal a session, one browser a module, profiles a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e import browser as browsers
from tests.e2e import node_provider, small_portal, supervised
from tests.e2e.browser import Person
from tests.fixtures import started

HERE = Path(__file__).parent
NewPerson = Callable[..., Person]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of this folder is slow and shares one portal, so that xdist keeps it on one worker."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("portal"))
            item.add_marker(pytest.mark.timeout(420))


@pytest.fixture(scope="session")
def portal() -> Iterator[supervised.Portal]:
    """The processes of `make run`."""
    with supervised.running() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for one module: Playwright's loop must not meet the loops of other tests."""
    with browsers.chromium() as running:
        yield running


@pytest.fixture
def new_person(browser: Browser) -> Iterator[NewPerson]:
    """Makes browser profiles; each is checked for faults when the test ends."""
    with ExitStack() as stack:
        yield lambda url, **options: stack.enter_context(browsers.person(browser, url, **options))


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
