"""Debian's Chromium through Playwright, and a watch that fails a test for anything a page should not do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
DEADLINE = 45_000.0  # ms, for one thing to appear on a busy machine
expect.set_options(timeout=DEADLINE)
LOOPBACK = frozenset({"127.0.0.1", "localhost"})


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for one module; Playwright's loop must not outlive it, other tests run loops of their own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Person:
    """One browser profile: own cookies, own pages, and what went wrong on them."""

    context: BrowserContext
    page: Page
    portal: str  # origin of the portal; pages elsewhere are the provider's and not ours to judge
    faults: list[str] = field(default_factory=list)
    allowed: list[Callable[[str], bool]] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Note console errors, CSP violations, page errors and requests that leave this machine."""
        page.on("pageerror", lambda error: self._note(page, f"page error: {error}"))
        page.on("console", lambda message: self._on_console(page, message))
        page.on("request", lambda request: self._on_request(page, request))

    def enter(self, sessionid: str) -> None:
        """Continue a session of this person, without the way through the provider."""
        self.context.add_cookies([{"name": "sessionid", "value": sessionid, "url": self.portal}])

    def allow(self, text: str) -> None:
        """Expect faults that hold this text, for example while the server is killed."""
        self.allowed.append(lambda fault: text in fault)

    def unexpected(self) -> list[str]:
        """Faults that no test asked for."""
        return [fault for fault in self.faults if not any(rule(fault) for rule in self.allowed)]

    def _note(self, page: Page, fault: str) -> None:
        if page.url.startswith(self.portal):
            self.faults.append(f"{urlsplit(page.url).path}: {fault}")

    def _on_console(self, page: Page, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._note(page, f"console {message.type}: {message.text} {message.location.get('url', '')}")

    def _on_request(self, page: Page, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname not in LOOPBACK:
            self._note(page, f"request to another host: {request.url}")


@contextmanager
def person(browser: Browser, portal: str, *, javascript: bool = True, width: int = 1280) -> Iterator[Person]:
    """A new profile; at the end nothing unexpected may have happened on its pages."""
    context = browser.new_context(
        java_script_enabled=javascript,
        viewport={"width": width, "height": 900},
        base_url=portal,
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",  # without a graphics card each frame of a turning icon costs the processor
    )
    context.set_default_timeout(DEADLINE)
    context.set_default_navigation_timeout(2 * DEADLINE)
    someone = Person(context=context, page=context.new_page(), portal=portal)
    context.on("page", someone.watch)
    someone.watch(someone.page)
    try:
        yield someone
        if faults := someone.unexpected():
            raise AssertionError("\n".join(faults))
    finally:
        context.close()
