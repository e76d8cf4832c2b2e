"""What a person does on the pages, found by role, label and text as people find it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from playwright.sync_api import Locator, Page, expect

from tests.e2e.provider_pages import sign_in_at_demo

BUILT = 240_000.0  # ms until a cluster is ready at the latest
# ms until a job's state has changed on the page: a killed observer leaves a lease of two minutes
MOVED = 240_000.0


def mark(page: Page) -> None:
    """Leave something in the window that a reload would lose."""
    page.evaluate("window.neverReloaded = true")


def is_marked(page: Page) -> bool:
    """Whether the page is still the one that was marked."""
    return bool(page.evaluate("window.neverReloaded === true"))


def sign_in(page: Page, subject: str) -> None:
    """From the first page through the demo's provider and back."""
    page.goto("/")
    page.get_by_role("link", name="Sign in").first.click()
    sign_in_at_demo(page, subject)


def found_tenant(page: Page, name: str, slug: str) -> None:
    """On the welcome page."""
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Short name").fill(slug)
    page.get_by_label("I accept the terms").check()
    page.get_by_role("button", name="Found a tenant").click()
    page.wait_for_url(f"**/t/{slug}/")


def order(page: Page, *, name: str, nodes: int, pool: str = "train", flavor: str = "a100-4") -> str:
    """From the overview to the page of the submitted order; its address."""
    page.get_by_role("link", name="Order a cluster").first.click()
    page.get_by_label("Name", exact=True).fill(name)
    first = page.get_by_role("group", name="Pool 1")
    first.get_by_label("Pool").fill(pool)
    choices = first.get_by_label("Flavor")
    choices.select_option(label=choices.get_by_role("option").filter(has_text=flavor).first.inner_text())
    first.get_by_label("Nodes").fill(str(nodes))
    page.get_by_label("What it is for").fill("Training, two nodes.")
    page.get_by_role("button", name="Submit order").click()
    page.wait_for_url(re.compile(r"/orders/[0-9a-f-]{36}/$"))
    return page.url


def submit_job(page: Page, cluster: str, script: str, fields: Mapping[str, str]) -> str:
    """The form of that cluster (its address), filled and sent; the address of the job's page."""
    page.goto(f"{cluster}jobs/new/")
    page.get_by_label("Script", exact=True).fill(script)
    for label, value in fields.items():
        page.get_by_role("textbox", name=label).fill(value)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/$"))
    return page.url


def cancel_job(page: Page) -> None:
    """On the job's page: the button, then the dialog's."""
    page.get_by_role("link", name="Cancel job").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()


def state(page: Page) -> Locator:
    """The job's or order's large badge."""
    return page.locator("[data-region], [hx-get]").locator(".badge-lg").first


def expect_state(page: Page, word: str, *, within: float = MOVED) -> None:
    """Wait until the page says so by itself."""
    expect(state(page)).to_have_text(re.compile(word), timeout=within)
