"""One hand at the dashboard: it clicks or taps and fills in fields, and counts both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.conftest import DESKTOP, PHONE
from tests.dashboard.people import Desk

# How a page is opened on each, for Playwright.
SCREENS: dict[str, dict[str, Any]] = {
    "desk": {"viewport": DESKTOP},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
}


@dataclass
class Hand:
    """A person's hand on a page. `clicks` are clicks or taps, `fields` are texts typed and options chosen.

    A field counts once, with the click into it and the Enter key that may end it.
    """

    page: Page
    touches: bool = False
    clicks: int = 0
    fields: int = 0

    def click(self, part: Locator) -> None:
        """Click it once, or tap it."""
        self.clicks += 1
        if self.touches:
            part.tap()
        else:
            part.click()

    def press(self, name: str) -> None:
        """Click the page's only button of that name."""
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def follow(self, name: str) -> None:
        """Click the page's only link of that name, outside of the sidebar."""
        outside = self.page.get_by_role("main").or_(self.page.get_by_role("banner"))
        self.click(outside.get_by_role("link", name=name))

    def fill(self, field: Locator, text: str) -> None:
        """Type into a field."""
        self.fields += 1
        field.fill(text)

    def choose(self, field: Locator, option: str) -> None:
        """Choose an option of a list."""
        self.fields += 1
        field.select_option(option)

    def go(self, group: str, name: str) -> None:
        """Follow an entry of the sidebar; opens the menu and the group where the entry is hidden."""
        bar = self.page.get_by_role("navigation", name="Main")
        entry = bar.get_by_role("link", name=name)
        if not bar.is_visible():
            self.press("Menu")
        if not entry.is_visible():
            self.click(bar.get_by_text(group, exact=True))
        self.click(entry)


def log_in_hand(open_desk: Callable[..., Page], desk: Desk, screen: str) -> Hand:
    """Return a hand at the first page after the login, on a screen of `SCREENS`."""
    page = open_desk(desk, "dashboard_overview", **SCREENS[screen])
    return Hand(page, touches=screen == "phone")
