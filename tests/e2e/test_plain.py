"""Without JavaScript every form still works; a reload shows what is new."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.cases import case
from tests.e2e import walk
from tests.e2e.conftest import NewPerson
from tests.e2e.hands import Hands
from tests.e2e.supervised import Portal
from tests.e2e.waiting import until

SCRIPT = "#!/bin/bash\necho hello from a plain form\n"


@pytest.fixture(scope="module")
def place(hands: Hands) -> tuple[str, str]:
    """A tenant with a ready cluster: its slug and the cluster's id."""
    slug = f"gina-{uuid.uuid4().hex[:6]}"
    hands.do("found", subject="gina", slug=slug)
    cluster = hands.approved("gina", slug, "gpu-a")
    hands.wait_for(cluster, "ready")
    return slug, cluster


def reloaded(page: Page, text: str) -> bool:
    """Whether the page holds the text after a reload."""
    page.reload()
    return text in page.locator("main").inner_text()


@case("U01")
def test_a_job_without_javascript(portal: Portal, place: tuple[str, str], new_person: NewPerson) -> None:
    slug, cluster = place
    someone = new_person(portal.url, javascript=False)
    someone.allow("status of 400")  # what Chromium says of a form that was refused
    page = someone.page
    walk.sign_in(page, "gina")
    page.goto(f"/t/{slug}/clusters/{cluster}/jobs/new/")

    # refused: what was typed stays, the message stands beside its field
    page.get_by_label("Script", exact=True).fill("echo no first line")
    page.get_by_role("textbox", name="Name").fill("plain <b>job</b>")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_text("Nothing was submitted").first).to_be_visible()
    expect(page.get_by_label("Script", exact=True)).to_have_value("echo no first line")
    expect(page.get_by_role("textbox", name="Name")).to_have_value("plain <b>job</b>")

    # corrected, with Windows line ends
    page.get_by_label("Script", exact=True).fill(SCRIPT.replace("\n", "\r\n"))
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/$"))
    expect(page.get_by_role("heading", name="plain <b>job</b>")).to_be_visible()
    until(lambda: reloaded(page, "Completed"), "the page says so after a reload", seconds=120, pause=0.3)
    page.get_by_role("link", name="Open the output").click()
    expect(page.get_by_label("Output text")).to_contain_text("hello from a plain form")


def test_a_job_is_cancelled_without_javascript(
    portal: Portal, hands: Hands, place: tuple[str, str], new_person: NewPerson
) -> None:
    slug, cluster = place
    sent = hands.do(
        "job", subject="gina", cluster=cluster, script="#!/bin/bash\nsleep 300\n", fields={"name": "long"}
    )
    someone = new_person(portal.url, javascript=False)
    someone.enter(hands.do("cookie", subject="gina")["sessionid"])
    page = someone.page
    page.goto(f"/t/{slug}/jobs/{sent['job']}/")
    page.get_by_role("link", name="Cancel job").click()
    with page.expect_navigation():  # a reload before the answer is there would fail
        page.get_by_role("button", name="Cancel job").click()
    until(lambda: reloaded(page, "Cancelled"), "the page says so after a reload", seconds=120, pause=0.3)
