"""The frame and its script in a browser: live regions, forms, theme, keys, and no script at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Cookie, Page, Route, WebSocketRoute, expect

from tests.cases import case
from tests.e2e.browser import Person
from tests.e2e.conftest import NewPerson
from tests.e2e.provider_pages import sign_in_strictly
from tests.e2e.small_portal import SmallPortal

PAUSED = "Live updates paused, polling"


@pytest.fixture(scope="module")
def cookies(strict_portal: SmallPortal, browser: Browser) -> Iterator[list[Cookie]]:
    """Lena's session, with a tenant of her own."""
    context = browser.new_context(base_url=strict_portal.url)
    page = context.new_page()
    page.goto("/welcome/")
    sign_in_strictly(page, "lena")
    page.get_by_label("Short name").fill("lab-north")
    page.get_by_label("Name", exact=True).fill("Lab North")
    page.get_by_label("I accept the terms").check()
    page.get_by_role("button", name="Found a tenant").click()
    page.wait_for_url(re.compile("/t/lab-north/"))
    yield context.cookies()
    context.close()


@pytest.fixture
def lena(strict_portal: SmallPortal, cookies: list[Cookie], new_person: NewPerson) -> Person:
    """Lena in a browser of her own."""
    someone = new_person(strict_portal.url)
    someone.context.add_cookies([{**cookie} for cookie in cookies])  # type: ignore[typeddict-item]
    someone.allow("WebSocket")
    someone.allow("[object Event]")
    return someone


@pytest.fixture
def members(lena: Person) -> Page:
    """The members page, whose socket a test serves itself; not opened yet."""
    return lena.page


def served(page: Page) -> list[WebSocketRoute]:
    """Serve the page's sockets from here and open it."""
    sockets: list[WebSocketRoute] = []
    page.route_web_socket(re.compile("/ws/"), lambda socket: sockets.append(socket))  # noqa: PLW0108  (a bound method of a list is refused)
    page.goto("/t/lab-north/members/")
    page.wait_for_selector("body[data-live=up]")
    return sockets


def test_a_lost_socket_is_said_until_it_is_back_and_then_the_page_asks(members: Page) -> None:
    sockets = served(members)
    expect(members.get_by_text(PAUSED)).to_be_hidden()
    with members.expect_request(re.compile("/live/members/")):
        sockets[0].close(code=1001)
        expect(members.get_by_text(PAUSED)).to_be_visible()
        members.wait_for_selector("body[data-live=up]")
    expect(members.get_by_text(PAUSED)).to_be_hidden()
    assert len(sockets) == 2


def test_a_session_that_ended_is_said_above_the_page(members: Page) -> None:
    sockets = served(members)
    expect(members.get_by_text("Your session ended")).to_be_hidden()
    sockets[0].close(code=4401)
    expect(members.get_by_text("Your session ended")).to_be_visible()
    assert len(sockets) == 1


def test_a_page_of_a_tenant_that_was_left_does_not_stay_open(members: Page, lena: Person) -> None:
    lena.allow("404 (Not Found)")
    sockets = served(members)
    address = re.compile("/t/lab-north/members/$")
    members.route(
        address, lambda route: route.fulfill(status=404, content_type="text/html", body="Not for you")
    )
    sockets[0].close(code=4401)
    expect(members.get_by_text("Not for you")).to_be_visible()
    expect(members.get_by_text("Lena Holm")).to_have_count(0)


def test_a_live_change_keeps_the_focus(members: Page) -> None:
    sockets = served(members)
    region = members.locator("[data-region]")
    members.get_by_role("link", name="Change Lena Holm").focus()
    changed = str(region.evaluate("(element) => element.outerHTML")).replace("Owner", "Owner now")
    sockets[0].send(changed.replace("<div ", '<div hx-swap-oob="true" ', 1))
    expect(members.get_by_text("Owner now")).to_be_visible()
    expect(members.get_by_role("link", name="Change Lena Holm")).to_be_focused()


@pytest.mark.parametrize("kind", ["button", "summary"])
def test_a_live_change_keeps_the_focus_of_what_has_no_id(members: Page, kind: str) -> None:
    sockets = served(members)
    region = members.locator("[data-region]")
    more = '<button type="button">Take</button><details id="more"><summary>More</summary>text</details>'
    first = str(region.evaluate("(element) => element.outerHTML"))
    first = first.replace("<div ", '<div hx-swap-oob="true" ', 1).removesuffix("</div>") + more + "</div>"
    sockets[0].send(first)
    members.locator(f"[data-region] {kind}").last.focus()
    sockets[0].send(first.replace("Owner", "Owner now"))
    expect(members.get_by_text("Owner now")).to_be_visible()
    expect(members.locator(f"[data-region] {kind}").last).to_be_focused()


def test_what_takes_long_is_shown_until_it_is_done(members: Page) -> None:
    members.goto("/t/lab-north/members/invite/")
    held: list[Route] = []
    members.route(re.compile("/members/invite/"), lambda route: held.append(route))  # noqa: PLW0108  (as above)
    members.get_by_label("E-mail address").fill("una@example.org")
    button = members.get_by_role("button", name="Make the invitation")
    # asked in the page itself: Playwright waits for a navigation that is under way
    shown = button.evaluate("""button => new Promise((tell) => {
        button.click();
        setTimeout(() => tell([button.textContent, button.disabled, document.body.className]), 50);
    })""")
    assert shown == ["Sending…", True, "is-busy"]
    for _ in range(500):  # Playwright tells of the request in its own time
        if held:
            break
        members.wait_for_timeout(20)
    held[0].continue_()
    expect(members.get_by_text("una@example.org").first).to_be_visible()
    expect(members.locator("body")).not_to_have_class(re.compile("is-busy"))


@case("U10")
def test_a_form_is_sent_once_however_often_it_is_pressed(members: Page) -> None:
    members.goto("/t/lab-north/members/invite/")
    posts: list[str] = []
    members.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    members.get_by_label("E-mail address").fill("rui@example.org")
    members.get_by_role("button", name="Make the invitation").dblclick()
    expect(members.get_by_text("rui@example.org").first).to_be_visible()
    assert len(posts) == 1


def test_a_form_goes_through_after_signing_in_again_in_another_tab(members: Page) -> None:
    members.goto("/t/lab-north/members/invite/")
    members.get_by_label("E-mail address").fill("ida@example.org")
    other = members.context.new_page()
    other.goto("/signin/?next=/welcome/")  # the provider still knows her; the portal's tokens are new
    other.wait_for_url(re.compile("/welcome/$"))
    members.get_by_role("button", name="Make the invitation").click()
    expect(members.get_by_text("ida@example.org").first).to_be_visible()


def test_what_was_typed_is_there_again_after_the_session_was_lost(lena: Person) -> None:
    members = lena.page
    lena.allow("401")
    members.goto("/t/lab-north/members/invite/")
    members.get_by_label("E-mail address").fill("eva@example.org")
    members.get_by_label("Admin: orders").check()
    members.context.clear_cookies(name="sessionid")
    members.get_by_role("button", name="Make the invitation").click()
    expect(members.get_by_role("heading", name="Your session ended")).to_be_visible()
    members.get_by_role("link", name="Sign in again").click()  # the provider still knows her
    members.wait_for_url(re.compile("/members/invite/$"))
    expect(members.get_by_label("E-mail address")).to_have_value("eva@example.org")
    expect(members.get_by_label("Admin: orders")).to_be_checked()
    members.get_by_role("button", name="Make the invitation").click()
    expect(members.get_by_text("eva@example.org").first).to_be_visible()
    members.goto("/t/lab-north/members/invite/")
    expect(members.get_by_label("E-mail address")).to_have_value("")


def test_a_page_in_german_says_times_and_its_own_words_in_german(members: Page) -> None:
    members.goto("/t/lab-north/members/")
    members.get_by_role("button", name="Lena Holm").click()
    members.get_by_role("button", name="Deutsch").click()
    expect(members.get_by_role("heading", name="Mitglieder", exact=True)).to_be_visible()
    expect(members.locator("html")).to_have_attribute("lang", "de")
    expect(members.locator("time[data-relative]").first).to_have_text(
        re.compile(r"^(jetzt|vor \d+ (Sek|Min)\.)$")
    )
    expect(members.locator("[data-zone]")).to_have_text(re.compile("^Zeiten in "))


def test_a_new_invitation_ends_in_seven_days(members: Page) -> None:
    members.goto("/t/lab-north/members/invite/")
    members.get_by_label("E-mail address").fill("tom@example.org")
    members.get_by_role("button", name="Make the invitation").click()
    expect(members.get_by_text("in 7 days")).to_be_visible()


def test_the_address_of_a_tenant_is_whole_in_its_switch(members: Page) -> None:
    members.goto("/t/lab-north/members/")
    small = members.locator(".switcher small")
    assert small.evaluate("element => element.scrollWidth <= element.clientWidth")


def test_the_theme_is_kept_and_comes_with_the_page(members: Page) -> None:
    members.goto("/t/lab-north/members/")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = members.evaluate(ground)
    members.get_by_role("button", name="Light or dark").click()
    dark = members.evaluate(ground)
    answer = members.reload()
    assert answer is not None
    assert 'data-theme="dark"' in answer.text()
    assert members.evaluate(ground) == dark != light


def test_search_and_menus_are_reached_by_keyboard(members: Page) -> None:
    members.goto("/t/lab-north/members/")
    members.keyboard.press("Tab")
    expect(members.get_by_role("link", name="Skip to content")).to_be_focused()
    members.get_by_role("button", name="Lena Holm").press("Enter")
    expect(members.get_by_role("button", name="Sign out")).to_be_visible()
    members.keyboard.press("Escape")
    expect(members.get_by_role("button", name="Sign out")).to_be_hidden()


def test_without_a_script_the_sheet_opens_and_leaving_is_a_page(
    strict_portal: SmallPortal, cookies: list[Cookie], new_person: NewPerson
) -> None:
    someone = new_person(strict_portal.url, javascript=False, width=390)
    someone.context.add_cookies([{**cookie} for cookie in cookies])  # type: ignore[typeddict-item]
    page = someone.page
    page.goto("/t/lab-north/members/")
    expect(page.get_by_role("button", name="Light or dark")).to_be_hidden()
    expect(page.get_by_role("link", name="Audit")).to_be_hidden()
    page.get_by_role("button", name="Navigation").click()
    expect(page.get_by_role("link", name="Audit")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Leave this tenant").click()
    expect(page).to_have_url(re.compile("/members/leave/$"))
