"""The whole way from sign-up to a finished job, and a cancelled one, by keyboard alone."""

from __future__ import annotations

import re
import uuid

from playwright.sync_api import Page, expect

from tests.e2e import walk
from tests.e2e.browser import Person
from tests.e2e.conftest import NewPerson
from tests.e2e.keys import Keys
from tests.e2e.supervised import Portal

SCRIPT = "#!/bin/bash\nsleep 2\necho by keyboard on $(hostname)\n"
SLEEPER = "#!/bin/bash\nsleep 600\n"


def sign_in(page: Page, keys: Keys, portal: str, subject: str) -> None:
    """From the first page through the demo's provider and back."""
    page.goto("/")
    keys.press(page.get_by_role("link", name="Sign in").first)
    keys.write(page.get_by_label("Name"), subject)
    keys.press(page.get_by_role("button", name="Sign in", exact=True))
    page.wait_for_url(f"{portal}/**")


def found_tenant(page: Page, keys: Keys, slug: str) -> None:
    keys.write(page.get_by_label("Name", exact=True), "Tab Lab")
    keys.write(page.get_by_label("Short name"), slug)
    keys.press(page.get_by_label("I accept the terms"), "Space")
    keys.press(page.get_by_role("button", name="Found a tenant"))
    page.wait_for_url(f"**/t/{slug}/")


def order(page: Page, keys: Keys, name: str) -> None:
    page.keyboard.press("Tab")
    keys.press(page.get_by_role("link", name="Skip to content"))
    keys.press(page.get_by_role("link", name="Order a cluster").first)
    keys.write(page.get_by_label("Name", exact=True), name)
    pool = page.get_by_role("group", name="Pool 1")
    keys.write(pool.get_by_label("Pool"), "train")
    keys.choose(pool.get_by_label("Flavor"), "a100-4")
    keys.write(pool.get_by_label("Nodes"), "1")
    keys.press(page.get_by_role("button", name="Submit order"))
    page.wait_for_url(re.compile(r"/orders/[0-9a-f-]{36}/$"))


def approve(operator: Person, name: str) -> None:
    """From the operators' overview to the decision."""
    page, keys = operator.page, Keys(operator.page)
    sign_in(page, keys, operator.portal, "otto")
    page.goto("/operations/")
    keys.press(page.get_by_role("link", name=re.compile(f"Review {name} ")))
    keys.write(page.get_by_label("Note"), "Fits.")
    keys.press(page.get_by_role("button", name="Approve"))
    expect(page.get_by_text(re.compile("approved", re.IGNORECASE)).first).to_be_visible()


def submit(page: Page, keys: Keys, script: str) -> None:
    """On the cluster's page; the form is sent from within the script by Ctrl and Enter."""
    keys.press(page.get_by_role("link", name="Submit job").first)
    # the field, and at once the editor that takes its place
    keys.to(page.locator("textarea[name=script]:not(.vh), .cm-content"))
    editor = page.get_by_role("textbox", name="Script", exact=True)
    expect(editor).to_be_focused()
    keys.write(editor, script)
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/$"))


def test_from_sign_up_to_a_finished_job_by_keyboard(portal: Portal, new_person: NewPerson) -> None:
    word = uuid.uuid4().hex[:6]
    name = f"tab-{word}"
    admin = new_person(portal.url)
    for aborted in ("htmx:sendAbort", "htmx:afterRequest"):  # the form is sent while its summary is asked for
        admin.allow(aborted)
    page, keys = admin.page, Keys(admin.page)
    sign_in(page, keys, portal.url, f"tabitha-{word}")
    found_tenant(page, keys, f"tab-{word}")
    order(page, keys, name)
    walk.expect_state(page, "Waiting for approval")
    approve(new_person(portal.url), name)
    walk.expect_state(page, "Fulfilled", within=walk.BUILT)
    keys.press(page.get_by_role("link", name="Open cluster"))
    page.wait_for_url(re.compile(r"/clusters/[0-9a-f-]{36}/$"))
    cluster = page.url

    # a job runs and ends, its output can be read
    submit(page, keys, SCRIPT)
    walk.expect_state(page, "Completed")
    output = page.get_by_label("Output text")
    expect(output).to_contain_text("by keyboard on", timeout=walk.MOVED)
    keys.to(output)

    # another is found by the search box and cancelled in its dialog
    page.goto(cluster)
    submit(page, keys, SLEEPER)
    walk.expect_state(page, "Running")
    number = page.locator("h1 .copy code").inner_text()
    page.goto(cluster)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.insert_text(number)
    page.keyboard.press("Enter")
    keys.press(page.get_by_role("main").locator(".hits").get_by_role("link").first)
    keys.press(page.get_by_role("link", name="Cancel job"))
    keys.press(page.get_by_role("dialog").get_by_role("button", name="Cancel job"))
    walk.expect_state(page, "Cancelled")
