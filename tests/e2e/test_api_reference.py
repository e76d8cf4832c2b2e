"""The API reference under the strict policy, and a token from the browser to the first request."""

from __future__ import annotations

import re

import pytest
import requests
from playwright.sync_api import expect

from tests.api.calls import OPERATIONS
from tests.e2e.conftest import NewPerson
from tests.e2e.provider_pages import sign_in_strictly
from tests.e2e.small_portal import SmallPortal


@pytest.mark.parametrize("javascript", [True, False])
def test_the_reference_shows_every_operation_and_breaks_no_rule(
    strict_portal: SmallPortal, new_person: NewPerson, javascript: bool
) -> None:
    page = new_person(strict_portal.url, javascript=javascript).page
    page.goto("/api/v1/docs/")
    expect(page.locator("summary:has(.method)")).to_have_count(len(OPERATIONS))
    submit = page.locator("details:has(#job_submit)")
    expect(submit.get_by_text("Idempotency-Key").first).to_be_hidden()
    submit.locator("summary").press("Enter")
    expect(submit.get_by_text("Idempotency-Key").first).to_be_visible()
    submit.get_by_role("link", name="SubmissionOut").first.click()
    expect(page.locator("#SubmissionOut")).to_be_visible()  # the browser opened it on the way


def test_the_example_of_an_operation_is_copied(strict_portal: SmallPortal, new_person: NewPerson) -> None:
    someone = new_person(strict_portal.url)
    someone.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = someone.page
    page.goto("/api/v1/docs/#job_submit")
    page.get_by_role("button", name="Copy the command for job_submit").click()
    expect(page.get_by_role("status")).to_have_text("Copied")
    copied = str(page.evaluate("navigator.clipboard.readText()"))
    assert copied.startswith("curl ")
    assert copied.endswith(f"{strict_portal.url}/api/v1/t/TENANT/clusters/ID/jobs/")


def test_a_token_made_in_the_browser_opens_the_api(strict_portal: SmallPortal, new_person: NewPerson) -> None:
    page = new_person(strict_portal.url).page
    page.goto("/welcome/")
    sign_in_strictly(page, "tara")
    page.get_by_label("Name", exact=True).press_sequentially("Lab Tökens")
    expect(page.get_by_label("Short name")).to_have_value("lab-tokens")  # follows the name
    page.get_by_label("Short name").fill("lab-token")
    page.get_by_label("Name", exact=True).fill("Lab Tokens")
    expect(page.get_by_label("Short name")).to_have_value("lab-token")  # until somebody types one
    page.get_by_label("Short name").fill("lab-tokens")
    page.get_by_label("I accept the terms").check()
    page.get_by_role("button", name="Found a tenant").click()
    page.wait_for_url(re.compile("/t/lab-tokens/"))
    page.locator("[popovertarget=person]").click()
    page.get_by_role("link", name="API tokens").click()
    page.get_by_role("link", name="New token").first.click()
    page.get_by_label("Name", exact=True).fill("laptop")
    page.get_by_label("Read:").check()
    page.get_by_role("button", name="Make the token").click()
    token = page.get_by_role("button", name="Copy the token").get_attribute("data-copy")
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{strict_portal.url}/api/v1/t/lab-tokens/"
    assert requests.get(url, headers=headers, timeout=10).json()["role"] == "owner"
    page.get_by_role("link", name="Revoke laptop").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("The token laptop is revoked.")).to_be_visible()
    assert requests.get(url, headers=headers, timeout=10).status_code == 401
