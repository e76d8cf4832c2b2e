"""`make shots`: a picture of every page at 1280 and 390 px, light and dark, into shots/.

A page whose address has no builder in tests.e2e.shots_pages fails the run, and so does one that is wider
than its window, answers with an error or writes to the console.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import django
from django.urls import reverse
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    StorageState,
    StorageStateCookie,
)

from tests.e2e import browser as browsers
from tests.e2e import shots_pages, small_portal
from tests.e2e.node_provider import Provider
from tests.e2e.shots_pages import Facts
from tests.fixtures import servers

FOLDER = Path(__file__).resolve().parents[2] / "shots"
Scheme = Literal["light", "dark"]
WIDTHS = {1280: 900, 390: 844}  # px
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
TALLEST = 6000  # px; a longer page is cut
NOBODY = StorageState(cookies=[], origins=[])


@dataclass
class Album:
    """The pictures of one run and what was wrong with the pages."""

    folder: Path = FOLDER
    taken: list[Path] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def hear(self, address: str, line: ConsoleMessage) -> None:
        """Errors and warnings on the console are faults of the page."""
        if line.type in {"error", "warning"}:
            self.faults.append(f"{address}: {line.text}")


def with_session(base: str, value: str) -> StorageState:
    """The cookies of a person who is signed in."""
    host = urlsplit(base).hostname or ""
    cookie = StorageStateCookie(
        name="sessionid",
        value=value,
        domain=host,
        path="/",
        expires=-1,
        httpOnly=True,
        secure=False,
        sameSite="Lax",
    )
    return StorageState(cookies=[cookie], origins=[])


def take_all(browser: Browser, base: str, people: Mapping[str, StorageState], facts: Facts) -> Album:
    """Picture every named page of the URLconf at the four settings."""
    album = Album()
    album.faults += [f"no builder for {name} in tests/e2e/shots_pages.py" for name in shots_pages.missing()]
    album.faults += [f"no address for {name} of tests/e2e/shots_pages.py" for name in shots_pages.unknown()]
    shutil.rmtree(album.folder, ignore_errors=True)
    album.folder.mkdir(parents=True)
    for who, state in people.items():
        for width, height in WIDTHS.items():
            for scheme in SCHEMES:
                context = browser.new_context(
                    storage_state=state,
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                    reduced_motion="reduce",
                    timezone_id="UTC",
                    locale="en-GB",
                )
                _take_for(context, base, who, facts, album, f"{width}-{scheme}")
                context.close()
    return album


def _take_for(context: BrowserContext, base: str, who: str, facts: Facts, album: Album, setting: str) -> None:
    page = context.new_page()
    page.on("pageerror", lambda error: album.faults.append(f"{page.url}: {error}"))
    page.on("console", lambda line: album.hear(page.url, line))
    for name in sorted(set(shots_pages.names())):
        if not shots_pages.is_page(name):
            continue
        for picture in shots_pages.builders_for(name):
            if picture.who != who:
                continue
            try:
                address = reverse(name, kwargs=dict(picture.arguments(facts))) + picture.tail
            except KeyError as fact:
                album.faults.append(f"{name}: the scene has no {fact}")
                continue
            label = re.sub(r"[^a-z0-9]+", "-", f"{name} {picture.label}".lower()).strip("-")
            take(page, f"{base}{address}", album, album.folder / f"{label}-{setting}.png")


def take(page: Page, address: str, album: Album, path: Path) -> None:
    """One picture of the whole page, and what is wrong with it."""
    answer = page.goto(address)
    page.evaluate("document.fonts.ready")
    if answer is None or answer.status >= 400:
        album.faults.append(f"{address}: answered {answer.status if answer else 'nothing'}")
    width = (page.viewport_size or {"width": 0})["width"]
    tall, wide = page.evaluate("[document.body.scrollHeight, document.documentElement.scrollWidth]")
    if wide > width:
        album.faults.append(f"{address}: {wide} px wide in a window of {width} px")
    page.screenshot(
        path=path,
        full_page=True,
        clip={"x": 0, "y": 0, "width": width, "height": min(max(tall, 1), TALLEST)},
    )
    album.taken.append(path)


def furnish(
    portal: small_portal.SmallPortal, scene_of: str = "tests.e2e.shots_scene"
) -> tuple[Any, dict[str, StorageState]]:
    """Make the scene in the portal's database; its facts, and who looks at it."""
    done = subprocess.run(
        [sys.executable, "-m", scene_of],
        env=dict(portal.environment),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    scene = json.loads(done.stdout.splitlines()[-1])
    people = {name: with_session(portal.url, value) for name, value in scene["sessions"].items()}
    return scene["facts"], {"nobody": NOBODY, **people}


def main() -> int:
    """Start a portal, furnish it, picture it; 1 when a page is missing or at fault."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="freehold-shots-")))
        folder.chmod(0o711)
        stores = servers.Servers(folder, worker="shots")
        stack.callback(stores.stop)
        stores.start()
        issuer = "http://127.0.0.1:9"  # nobody signs in: the scene comes with sessions
        portal = stack.enter_context(
            small_portal.running(
                small_portal.address(), Provider(issuer), stores, folder, operators=f"{issuer}|otto"
            )
        )
        facts, people = furnish(portal)
        browser = stack.enter_context(browsers.chromium())
        os.environ.update(portal.environment)
        django.setup()
        album = take_all(browser, portal.url, people, facts)
    for fault in sorted(set(album.faults)):
        print(f"shots: {fault}", file=sys.stderr)
    print(f"shots: {len(album.taken)} pictures in {album.folder}")
    return 1 if album.faults else 0


if __name__ == "__main__":
    sys.exit(main())
