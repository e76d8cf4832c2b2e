"""Every page of the furnished scene, wide and narrow, light and dark: axe-core finds nothing serious."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, StorageState, expect

from portal.lib.types import JSONDict
from tests.e2e import node_packages, shots, shots_pages, small_portal
from tests.e2e.browser import Person
from tests.e2e.conftest import NewPerson
from tests.e2e.node_provider import Provider
from tests.fixtures import started

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
BAD = {"serious", "critical"}
COLOURS = ["color-contrast", "link-in-text-block"]  # rules that may hold in one scheme and not in another
RUN = """async only => {
    return await axe.run(document, { runOnly: only, resultTypes: ['violations'], preload: false });
}"""
UNFOLD = "() => { for (const one of document.querySelectorAll('details')) one.open = true; }"
Scene = tuple[str, shots_pages.Facts, dict[str, StorageState]]


@pytest.fixture(scope="module")
def axe() -> str:
    """The program that looks for faults, as text."""
    folder = node_packages.installed(Path(__file__).with_name("axe"))
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def scene(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A portal with one tenant's life in it: its address, what there is, and who looks at it."""
    issuer = "http://127.0.0.1:9"  # nobody signs in: the scene comes with sessions
    folder = tmp_path_factory.mktemp("scene")
    stores = pytestconfig.stash[started]
    with small_portal.running(
        small_portal.address(), Provider(issuer), stores, folder, operators=f"{issuer}|otto"
    ) as portal:
        facts, people = shots.furnish(portal)
        yield portal.url, facts, people


def pages_of(who: str, facts: shots_pages.Facts) -> Iterator[str]:
    """The addresses that this person looks at."""
    for name in sorted(set(shots_pages.names())):
        for picture in shots_pages.builders_for(name) if shots_pages.is_page(name) else []:
            if picture.who == who:
                yield reverse(name, kwargs=dict(picture.arguments(facts))) + picture.tail


def faults(page: Page, axe: str, schemes: Sequence[shots.Scheme] = ("light",)) -> list[str]:
    """What axe finds on the page as it is now in these colours, each with the elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    found: list[str] = []
    only: JSONDict = {"type": "tag", "values": TAGS}
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        answer: JSONDict = page.evaluate(RUN, only)
        only = {"type": "rule", "values": COLOURS}
        found += [
            f"{scheme}: {rule['impact']}: {rule['id']}: {node['target'][0]}: {node['html'][:160]}"
            for rule in answer["violations"]
            if rule["impact"] in BAD
            for node in rule["nodes"][:3]
        ]
    return found


def test_axe_finds_nothing_serious_and_nothing_is_on_the_console(
    browser: Browser, scene: Scene, axe: str
) -> None:
    base, facts, people = scene
    looked, wrong = 0, dict[str, str]()  # a fault, and the first page that has it
    for who, state in people.items():
        context = browser.new_context(base_url=base, storage_state=state, reduced_motion="reduce")
        someone = Person(context=context, page=context.new_page(), portal=base)
        someone.watch(someone.page)
        for address in pages_of(who, facts):
            someone.page.emulate_media(color_scheme="light")
            someone.page.goto(address)
            someone.page.evaluate(UNFOLD)
            found = list(someone.faults)
            for width, height in shots.WIDTHS.items():
                someone.page.set_viewport_size({"width": width, "height": height})
                found += [f"{width} px: {one}" for one in faults(someone.page, axe, shots.SCHEMES)]
            for fault in found:
                wrong.setdefault(fault, f"{address} ({who})")
            someone.faults.clear()  # axe tries inline styles, which the policy refuses on the console
            looked += 1
        context.close()
    assert looked > 60
    assert not wrong, "\n".join(f"{fault}\n    at {where}" for fault, where in wrong.items())


def test_axe_would_find_something(browser: Browser, axe: str) -> None:
    page = browser.new_page()
    page.set_content(
        "<html lang=en><title>t</title><img src=x><button></button><p style='color:#ccc'>pale</p>"
    )
    kinds = {fault.split(": ")[2] for fault in faults(page, axe)}
    assert {"image-alt", "button-name", "color-contrast"} <= kinds
    page.close()


def test_what_is_on_the_console_would_be_heard(scene: Scene, new_person: NewPerson) -> None:
    someone = new_person(scene[0])
    someone.page.goto("/")
    someone.page.evaluate(
        "console.warn('careful'); console.error('broken'); console.info('for those who look')"
    )
    assert [fault.split(": ")[1:3] for fault in someone.faults] == [
        ["console warning", "careful "],
        ["console error", "broken "],
    ]
    someone.allow("console ")


def test_plots_are_drawn_within_the_policy_and_told_in_tables(
    browser: Browser, scene: Scene, new_person: NewPerson
) -> None:
    base, facts, people = scene
    someone = new_person(base)  # whose console is watched: a broken policy is a fault
    someone.enter(str(people["ada"]["cookies"][0]["value"]))
    page = someone.page
    page.goto(reverse("cluster", kwargs={"tenant": facts["tenant"], "pk": facts["cluster"]}))
    expect(page.locator(".uplot canvas")).to_have_count(2)
    painted = """canvases => canvases.map((one) =>
        one.getContext("2d").getImageData(0, 0, one.width, one.height).data.some((part) => part > 0))"""
    assert page.locator(".uplot canvas").evaluate_all(painted) == [True, True]
    page.get_by_text("As a table, by the hour").click()
    table = page.get_by_role("table", name="GPUs busy and nodes up in the last 24 hours")
    expect(table).to_be_visible()
    assert table.get_by_role("row").count() > 20
    page.get_by_role("button", name="Light or dark").click()  # drawn again in the other colours
    expect(page.locator(".uplot canvas")).to_have_count(2)


def test_an_order_on_paper_has_moments_and_no_buttons(
    browser: Browser, scene: Scene, new_person: NewPerson
) -> None:
    base, facts, people = scene
    someone = new_person(base)
    someone.enter(str(people["ada"]["cookies"][0]["value"]))
    page = someone.page
    page.goto(reverse("order", kwargs={"tenant": facts["tenant"], "pk": facts["order"]}))
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    shown = "(time) => getComputedStyle(time, '::after').content"
    assert re.search(r"20\d\d", page.locator(".page-sub time").evaluate(shown))
    shots.FOLDER.mkdir(exist_ok=True)
    page.screenshot(path=shots.FOLDER / "order-on-paper.png", full_page=True)


def test_ticks_outlive_a_live_swap_and_only_they_are_acted_on(scene: Scene, new_person: NewPerson) -> None:
    base, facts, people = scene
    someone = new_person(base)
    someone.enter(str(people["ada"]["cookies"][0]["value"]))
    page = someone.page
    page.goto(reverse("jobs", kwargs={"tenant": facts["tenant"]}) + "?who=everyone")
    ticks = page.locator("tbody input[type=checkbox]")
    expect(page.locator("#selection")).to_be_hidden()
    ticks.first.check()
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.evaluate(
        """() => {
            const region = document.querySelector("[data-region]");
            region.dataset.old = "";
            region.removeAttribute("hx-headers");  // as if something had changed
            document.body.dispatchEvent(new Event("poll"));
        }"""
    )
    expect(page.locator("[data-region][data-old]")).to_have_count(0)
    expect(ticks.first).to_be_checked()
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_role("button", name="Hold", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Hold")


def test_arrow_keys_walk_through_the_cells_of_an_array(scene: Scene, new_person: NewPerson) -> None:
    base, facts, people = scene
    someone = new_person(base)
    someone.enter(str(people["ada"]["cookies"][0]["value"]))
    page = someone.page
    page.goto(reverse("job-tasks", kwargs={"tenant": facts["tenant"], "pk": facts["array large"]}))
    expect(page.locator('[data-cells] a[tabindex="0"]')).to_have_count(1)
    page.locator("[data-cells] a").first.focus()
    for key, number in (("ArrowRight", 1), ("End", 499), ("ArrowLeft", 498), ("Home", 0), ("ArrowRight", 1)):
        page.keyboard.press(key)
        expect(page.locator(f"#cell-{number}")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("_1")
