"""Paying without a mouse, on any screen, with whatever a reader's system asks for."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect

from tests.browser.states import STATES
from tests.browser.test_screenshots import overflows, scanned, take
from tests.checkouts.factories import ADDRESS, make_exact_choice, make_page_checkout
from tests.links.factories import make_donation

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

# What has focus, as an outline around it or around the card that holds it shows.
FOCUSED = """() => {
  const rings = (part) => {
    const style = getComputedStyle(part);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  };
  const part = document.activeElement;
  const box = part.getBoundingClientRect();
  return {
    name: part.id || part.value || part.className || part.tagName,
    is_marked: [part, part.closest("label")].some((one) => one && rings(one)),
    is_seen: box.bottom > 0 && box.top < innerHeight && box.width > 0,
  };
}"""
MOVING = """() => document.getAnimations().filter(({ playState }) => playState === "running").length"""
# WCAG 2.2, 1.4.10: 1280 by 1024 at 400 %; and twice as large letters on a phone, which is half as wide.
ZOOMED: dict[str, ViewportSize] = {"200 %": {"width": 640, "height": 512}, "400 %": {"width": 320, "height": 256}}
WIDE: ViewportSize = {"width": 3840, "height": 2160}
EVERYWHERE = ["pending", "exact-solana", "underpaid", "seen", "expired", "receipt"]


def walk(page: Page) -> list[dict[str, Any]]:
    """Press Tab through the whole page; what had focus each time."""
    stops: list[dict[str, Any]] = []
    while len(stops) < 60:
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop["name"] == "BODY":
            return stops
        stops.append(stop)
    raise AssertionError(f"the keyboard is trapped: {stops}")


def test_tab_leads_through_everything_and_shows_where_it_is(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}?chain=polygon")
    stops = walk(page)
    names = [stop["name"] for stop in stops]
    journey = ["skip-link", "USDC", "polygon", "copy-amount", "copy-address"]
    assert [name for name in names if name in journey] == journey
    assert names[-1] != "copy-address"
    assert [stop for stop in stops if not stop["is_marked"]] == []
    assert [stop for stop in stops if not stop["is_seen"]] == []


def test_a_buyer_chooses_copies_and_asks_for_help_by_keyboard_alone(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#payment")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("radio", name="USDC", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Polygon")).to_be_focused()
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    copy = page.locator("#copy-address")
    tab_to(page, copy)
    page.keyboard.press("Space")
    expect(page.locator("#announcer")).to_have_text("Address copied")
    assert page.evaluate("navigator.clipboard.readText()") == ADDRESS
    expect(copy).to_be_focused()
    summary = page.locator("summary:visible").first
    tab_to(page, summary)
    page.keyboard.press("Enter")
    expect(page.locator("details:has(summary:visible)").first).to_have_attribute("open", "")
    tab_to(page, page.locator("#languages"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="Language")).to_be_visible()


def tab_to(page: Page, wanted: Any) -> None:
    """Press Tab until something has focus."""
    is_focused = "(part) => part === document.activeElement"
    for _ in range(30):
        page.keyboard.press("Tab")
        if wanted.evaluate(is_focused):
            return
    raise AssertionError(f"Tab does not reach {wanted}")


def test_the_marker_sees_a_control_whose_focus_does_not_show(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    page.evaluate("document.querySelector('#copy-amount').style.outline = 'none'")
    [hidden] = [stop for stop in walk(page) if not stop["is_marked"]]
    assert hidden["name"] == "copy-amount"


def test_a_donor_gives_by_keyboard_alone(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/p/{make_donation().code}")
    field = page.locator("#amount")
    tab_to(page, field)
    page.keyboard.type("25")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Choose how to pay")


@pytest.mark.parametrize("state", EVERYWHERE)
def test_nothing_needs_scrolling_sideways_zoomed_in_or_on_a_wall(state: str, page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/c/{STATES[state].make().code}{STATES[state].rest}")
    for name, size in (ZOOMED | {"3840": WIDE}).items():
        page.set_viewport_size(size)
        take(page, f"zoom-{state}-{name.split()[0]}")
        assert not overflows(page), name


def test_letters_twice_as_large_cut_nothing_off(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/c/{make_exact_choice().code}?chain=tron")
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    take(page, "letters-200")
    assert not overflows(page)
    cut = page.evaluate(
        "() => [...document.querySelectorAll('button, .field__value, .network__name, h1, p')]"
        ".filter((part) => part.offsetWidth > 1 && getComputedStyle(part).overflowX !== 'visible'"
        " && part.scrollWidth > part.clientWidth + 1).map((part) => part.textContent.trim())"
    )
    assert cut == []


@pytest.mark.parametrize("state", ["pending", "seen", "completed"])
def test_nothing_moves_for_who_asked_for_stillness(
    state: str, open_context: Callable[..., BrowserContext], live_server: Any
) -> None:
    address = f"{live_server.url}/c/{STATES[state].make().code}{STATES[state].rest}"
    still = open_context(reduced_motion="reduce").new_page()
    still.goto(address)
    assert still.evaluate(MOVING) == 0
    lively = open_context(reduced_motion="no-preference").new_page()
    lively.goto(address)
    # One may have ended by now, but is remembered.
    assert lively.evaluate("document.getAnimations().length") > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_in_forced_colours_shows_what_is_chosen_and_what_has_focus(
    scheme: Any, open_context: Callable[..., BrowserContext], live_server: Any
) -> None:
    page = open_context(forced_colors="active", color_scheme=scheme).new_page()
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    take(page, f"forced-colours-{scheme}")
    # Scanners want black on white. (axe's contrast is left out: it mixes our colours with the system's.)
    assert scanned(page) == ADDRESS
    border = "(card) => getComputedStyle(card).borderTopColor"
    chosen, other = (page.locator(f".network:has([value={chain}])").evaluate(border) for chain in ("base", "polygon"))
    assert chosen != other
    assert [stop for stop in walk(page) if not stop["is_marked"]] == []
