"""What a person does who has a keyboard and no pointer: Tab until there, then type or press."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

FARTHEST = 150  # presses of Tab from one thing to the next
FOCUSED = "element => element === document.activeElement"


class Keys:
    """Hands on the keyboard of one page. Nothing here clicks, and nothing sets the focus but Tab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def to(self, target: Locator) -> None:
        """Tab forward until the target has the focus; the document's end leads to its beginning."""
        target.wait_for()
        for _ in range(FARTHEST):
            if target.evaluate(FOCUSED):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{target} was not reached with Tab at {self.page.url}")

    def press(self, target: Locator, key: str = "Enter") -> None:
        """A link or button by Enter, a box by Space."""
        self.to(target)
        self.page.keyboard.press(key)

    def write(self, target: Locator, text: str) -> None:
        """In place of what stands in the field."""
        self.to(target)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def choose(self, target: Locator, part: str) -> None:
        """The first option that holds this text, by the arrows."""
        self.to(target)
        self.page.keyboard.press("Home")
        for _ in range(target.locator("option").count()):
            if part in target.locator("option:checked").inner_text():
                return
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"no option holds {part!r}")
