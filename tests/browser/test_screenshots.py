"""Pictures of every state of the hosted page, for people to look at; what can be judged by machine is judged here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from checkouts.models import Checkout
from tests.browser.conftest import DESKTOP, PHONE
from tests.checkouts.factories import (
    make_closed,
    make_completed,
    make_exact_choice,
    make_expired,
    make_overpaid,
    make_page_checkout,
    make_seen,
    make_test_checkout,
    make_underpaid,
)
from tests.tree import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("chains_are_well"),
]

FOLDER = ROOT / "var" / "screenshots"
STATES: dict[str, Callable[[], Checkout]] = {
    "pending": make_page_checkout,
    "underpaid": make_underpaid,
    "seen": make_seen,
    # Without a shop to go back to, so that the pages hold still.
    "completed": lambda: make_completed(redirect_url=""),
    "overpaid": lambda: make_overpaid(redirect_url=""),
    "closed": make_closed,
    "expired": make_expired,
    "test-mode": make_test_checkout,
    "exact-amount": make_test_checkout,
    "exact-solana": make_exact_choice,
    "exact-ton": make_exact_choice,
}
QUERIES = {
    "exact-amount": "?chain=tron",
    "exact-solana": "?chain=solana",
    "exact-ton": "?chain=ton",
}
VIEWS: dict[str, dict[str, Any]] = {
    f"{size}-{scheme}": {"viewport": viewport, "color_scheme": scheme}
    for size, viewport in (("1280", DESKTOP), ("390", PHONE))
    for scheme in ("light", "dark")
}
VIEWS["320-light"] = {"viewport": {"width": 320, "height": 640}}


def take(page: Page, name: str) -> Path:
    """A picture of the whole page, once its fonts and logos are there."""
    page.evaluate("document.fonts.ready")
    page.wait_for_load_state("networkidle")
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path, full_page=True, animations="disabled")
    return path


def overflows(page: Page) -> bool:
    """Whether a reader would have to scroll sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert isinstance(wide, bool)
    return wide


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("state", STATES)
def test_every_state_fits_every_screen(
    state: str,
    view: str,
    live_server: Any,
    open_context: Callable[..., BrowserContext],
) -> None:
    context = open_context(device_scale_factor=2, **VIEWS[view])
    # A wallet is there, so that its button is in the picture.
    context.add_init_script("window.ethereum = { request: async () => null }")
    page = context.new_page()
    query = QUERIES.get(state, "")
    page.goto(f"{live_server.url}/c/{STATES[state]().code}{query}")
    take(page, f"checkout-{state}-{view}")
    assert not overflows(page)


@pytest.mark.parametrize("view", VIEWS)
def test_the_not_found_page_fits_every_screen(
    view: str,
    live_server: Any,
    open_context: Callable[..., BrowserContext],
    complaints: list[str],
) -> None:
    page = open_context(device_scale_factor=2, **VIEWS[view]).new_page()
    page.goto(f"{live_server.url}/c/unknown")
    take(page, f"error-404-{view}")
    assert not overflows(page)
    assert any("404" in text for text in complaints)
    complaints.clear()
