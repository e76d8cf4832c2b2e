"""Signing in and out in a browser, against npm oidc-provider, which requires PKCE."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.cases import case
from tests.e2e.conftest import NewPerson
from tests.e2e.provider_pages import sign_in_strictly, sign_out_strictly
from tests.e2e.small_portal import SmallPortal


def test_a_new_person_signs_in_and_is_welcomed(strict_portal: SmallPortal, new_person: NewPerson) -> None:
    page = new_person(strict_portal.url).page
    page.goto("/")
    page.get_by_role("link", name="Sign in").first.click()
    asked = page.url
    sign_in_strictly(page, "nora")
    expect(page).to_have_url(re.compile(r"/welcome/$"))
    expect(page.get_by_text("Nora Berg").first).to_be_visible()
    assert asked.startswith(strict_portal.environment["OIDC_ISSUER"])


def test_signing_out_ends_both_sessions(strict_portal: SmallPortal, new_person: NewPerson) -> None:
    page = new_person(strict_portal.url).page
    page.goto("/welcome/")
    sign_in_strictly(page, "nora")
    page.get_by_role("button", name="Sign out").click()
    sign_out_strictly(page)
    page.wait_for_url(f"{strict_portal.url}/?*")  # with the state that the provider hands back
    expect(page.get_by_role("link", name="Sign in").first).to_be_visible()
    page.goto("/welcome/")  # the provider asks anew: its session ended, too
    expect(page.get_by_placeholder("Enter any login")).to_be_visible()


@case("U24")
def test_a_page_that_needs_a_person_comes_back_after_signing_in(
    strict_portal: SmallPortal, new_person: NewPerson
) -> None:
    page = new_person(strict_portal.url).page
    page.goto("/welcome/?from=mail")
    sign_in_strictly(page, "nora")
    expect(page).to_have_url(f"{strict_portal.url}/welcome/?from=mail")


@case("U24")
@pytest.mark.parametrize(
    "evil", ["//evil.example/x", "/\\evil.example", "https://evil.example", "/signin/?next=" * 5]
)
def test_next_never_leaves_the_portal(strict_portal: SmallPortal, new_person: NewPerson, evil: str) -> None:
    page = new_person(strict_portal.url).page
    page.goto(f"/signin/?next={evil}")
    sign_in_strictly(page, "nora")
    page.wait_for_url(f"{strict_portal.url}/**")
    assert len(page.url) < 300
    expect(page.get_by_text("Nora Berg").first).to_be_visible()


@case("U24")
def test_two_tabs_sign_in_side_by_side(strict_portal: SmallPortal, new_person: NewPerson) -> None:
    someone = new_person(strict_portal.url)
    first, second = someone.page, someone.context.new_page()
    first.goto("/signin/?next=/welcome/?tab=1")
    second.goto("/signin/?next=/welcome/?tab=2")
    sign_in_strictly(second, "nora")
    expect(second).to_have_url(f"{strict_portal.url}/welcome/?tab=2")
    sign_in_strictly(first, "nora")
    expect(first).to_have_url(f"{strict_portal.url}/welcome/?tab=1")


@case("U24")
def test_going_back_to_a_used_answer_makes_no_second_session(
    strict_portal: SmallPortal, new_person: NewPerson
) -> None:
    someone = new_person(strict_portal.url)
    answers: list[str] = []
    someone.page.on("request", lambda request: answers.append(request.url))
    someone.page.goto("/welcome/")
    sign_in_strictly(someone.page, "nora")
    expect(someone.page).to_have_url(re.compile(r"/welcome/$"))
    used = next(url for url in answers if "/signin/callback/" in url)

    thief = new_person(strict_portal.url)
    thief.allow("status of 400")
    thief.page.goto(used)
    expect(thief.page.get_by_role("link", name="Start again")).to_be_visible()
    thief.page.goto("/welcome/")
    expect(thief.page.get_by_placeholder("Enter any login")).to_be_visible()


def test_an_operator_is_known_by_issuer_and_subject_only(
    strict_portal: SmallPortal, new_person: NewPerson
) -> None:
    operator = new_person(strict_portal.url)
    operator.page.goto("/operations/")
    sign_in_strictly(operator.page, "otto")
    expect(operator.page).to_have_url(f"{strict_portal.url}/operations/")
    expect(operator.page.get_by_role("heading", name="Operations").first).to_be_visible()

    other = new_person(strict_portal.url)
    other.allow("status of 404")
    other.allow("status of 403")
    other.page.goto("/welcome/")
    sign_in_strictly(other.page, "nora")
    answer = other.page.goto("/operations/")
    assert answer is not None
    assert answer.status in {403, 404}
