"""The script of the output pane in a browser: text by its socket, and asking again while there is none.

Portal and socket are served from here, so that each of them can fail at will.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import django_htmx
import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Browser, Page, Route, WebSocketRoute, expect

from jobs.web.pieces import AGAIN, Piece
from tests.cases import case
from tests.e2e.browser import DEADLINE
from tests.e2e.waiting import until

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {
    "/htmx.js": Path(django_htmx.__file__).parent / "static/django_htmx/htmx-2.min.js",
    "/output.js": ROOT / "static/js/output.js",
}
ORIGIN = "http://127.0.0.1:9"
JOB = SimpleNamespace(pk=uuid.UUID(int=7))
OUTPUT = f"/t/aurora/jobs/{JOB.pk}/output/"


class Portal:
    """What the browser talks to: the file, who asked for which part, and the sockets that it opened."""

    def __init__(self, page: Page) -> None:
        self.page, self.text = page, ""
        self.asked: list[str] = []
        self.sockets: list[WebSocketRoute] = []
        self.refused = 0  # how many sockets are closed with 1011 at once
        self.tail, self.more = f"/ws{OUTPUT}?stream=stdout", AGAIN
        page.route("**/*", self._answer)
        page.route_web_socket(re.compile("/ws/"), self._connect)

    def open(self) -> None:
        self.page.goto(f"{ORIGIN}/")

    def grow(self, text: str) -> None:
        """The job writes; an open socket tells it."""
        start = len(self.text)
        self.text += text
        self.say(lines=text, offset=start + len(text), shown=start + len(text), replace=False)

    def say(self, **facts: object) -> None:
        nothing = {"lines": "", "last": "", "said": "", "note": "", "replace": False, "over": False}
        if self.sockets:
            self.sockets[-1].send(json.dumps(nothing | facts))

    def place(self) -> dict[str, str]:
        """Where the newest socket wants to go on."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.sockets[-1].url).query).items()}

    def wait(self, sockets: int) -> None:
        """Until so many sockets were opened."""
        until(lambda: self._count() >= sockets, f"{sockets} sockets were opened")

    def _count(self) -> int:
        self.page.wait_for_timeout(50)  # events come only while the browser is talked to
        return len(self.sockets)

    def _connect(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        if self.refused:
            self.refused -= 1
            socket.close(code=1011)

    def _answer(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.path == OUTPUT:
            offset = parse_qs(address.query).get("offset", [""])[0]
            self.asked.append(offset)
            route.fulfill(content_type="text/html", body=self._pane(offset))
        elif address.path == "/":
            route.fulfill(content_type="text/html", body=PAGE)
        elif known := SCRIPTS.get(address.path):
            route.fulfill(content_type="text/javascript", body=known.read_text())
        else:  # icons
            route.fulfill(status=404)

    def _pane(self, offset: str) -> str:
        start = int(offset) if offset.isdigit() else 0
        piece = Piece(
            lines=self.text[start:], offset=len(self.text), replace=not offset.isdigit(), more=self.more
        )
        context = {
            "actor": SimpleNamespace(tenant=SimpleNamespace(slug="aurora")),
            "job": JOB,
            "stream": "stdout",
            "piece": piece,
            "tail": self.tail,
        }
        return render_to_string(f"jobs/output.html#{'added' if offset else 'pane'}", context)


PAGE = f"""<!doctype html><html><head><meta charset="utf-8"><script src="/htmx.js" defer></script>
<script src="/output.js" defer></script></head><body>
<div hx-get="{OUTPUT}" hx-trigger="load" hx-swap="outerHTML"></div></body></html>"""


@pytest.fixture
def portal(browser: Browser) -> Iterator[Portal]:
    context = browser.new_context()
    yield Portal(context.new_page())
    context.close()


def shows(portal: Portal, text: str) -> None:
    expect(portal.page.locator("#output-lines")).to_have_text(text, use_inner_text=True, timeout=DEADLINE)


@case("U21")
def test_the_socket_adds_text_where_the_pane_stands_and_nothing_polls(portal: Portal) -> None:
    portal.text = "one\n"
    portal.open()
    shows(portal, "one\n")
    portal.wait(1)
    assert portal.place() == {"stream": "stdout", "offset": "4", "shown": "0"}
    portal.grow("<b>two</b>\n")
    shows(portal, "one\n<b>two</b>\n")
    assert portal.page.locator("#output-lines b").count() == 0
    portal.say(lines="afresh\n", last="50%", said="told", note="7 bytes", offset=7, shown=7, replace=True)
    shows(portal, "afresh\n")
    for name, text in (("last", "50%"), ("said", "told"), ("note", "7 bytes")):
        expect(portal.page.locator(f"#output-{name}")).to_have_text(text)
    portal.page.wait_for_timeout(2500)  # longer than the pace of the poll
    assert portal.asked == [""], "only the pane itself was asked for"
    portal.say(offset=7, shown=7, over=True)
    expect(portal.page.locator("#output-poll[hx-get]")).to_have_count(0)
    portal.page.wait_for_timeout(2500)
    assert len(portal.sockets) == 1
    assert portal.asked == [""]


def test_without_a_socket_it_asks_and_comes_back_without_a_gap(portal: Portal) -> None:
    portal.text, portal.refused = "one\n", 100
    portal.open()
    shows(portal, "one\n")
    portal.text += "two\n"
    shows(portal, "one\ntwo\n")
    assert portal.asked[1:], "it polled"
    # only now, so that the socket that comes through is one that was opened after the second line came
    portal.refused, refused = 0, len(portal.sockets)
    portal.wait(refused + 1)
    assert portal.place()["offset"] == str(len(portal.text))
    portal.grow("three\n")
    shows(portal, "one\ntwo\nthree\n")
    portal.sockets[-1].close(code=4403)
    portal.text += "four\n"
    shows(portal, "one\ntwo\nthree\nfour\n")
    opened = len(portal.sockets)
    portal.page.wait_for_timeout(3500)
    assert len(portal.sockets) == opened, "whose right is gone is not asked for again"


def test_without_a_socket_it_asks_when_the_state_of_the_job_was_swapped(portal: Portal) -> None:
    portal.tail, portal.more = "", "every 600s, again"
    portal.open()
    expect(portal.page.locator("#output-poll[hx-get]")).to_have_count(1)
    portal.text = "begun\n"
    portal.page.wait_for_timeout(300)
    assert portal.asked == [""]
    portal.page.evaluate(
        """() => {
            const region = document.createElement("div");
            region.id = "live-job-7";
            document.body.append(region);
            htmx.swap(region, "<p>Running</p>", {swapStyle: "innerHTML"});
        }"""
    )
    shows(portal, "begun\n")
    assert portal.sockets == []
