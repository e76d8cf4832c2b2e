"""Walks through the pages of the two OpenID providers, as a person does."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.e2e.waiting import until


def sign_in_strictly(page: Page, subject: str) -> None:
    """npm oidc-provider's development pages: any password is taken, consent is asked the first time."""
    page.get_by_placeholder("Enter any login").fill(subject)
    page.get_by_placeholder("and password").fill("anything")
    provider = page.url.partition("/interaction/")[0]
    page.get_by_role("button", name="Sign-in").click()
    consent = page.get_by_role("button", name="Continue")
    until(lambda: consent.is_visible() or not page.url.startswith(provider), "the provider goes on")
    if page.url.startswith(provider):
        consent.click()
        page.wait_for_url(lambda url: not url.startswith(provider))


def sign_out_strictly(page: Page) -> None:
    """npm oidc-provider asks before it ends its session."""
    page.get_by_role("button", name="Yes, sign me out").click()


def sign_in_at_demo(page: Page, subject: str) -> None:
    """oidc-provider-mock: a name is enough, known or new."""
    page.get_by_label("Name").fill(subject)
    page.get_by_role("button", name="Sign in", exact=True).click()
