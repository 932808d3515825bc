"""Every state of the hosted page, judged by machine; an exhaustive run takes pictures for people to look at."""

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal
from zlib import crc32

import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect

from tests.browser import axe
from tests.browser.states import STATES
from tests.exhaustive import EXHAUSTIVE
from tests.tree import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

FOLDER = ROOT / "var" / "screenshots"
VIEWS: dict[str, tuple[ViewportSize, Literal["light", "dark"]]] = {
    "1280-light": ({"width": 1280, "height": 900}, "light"),
    "1280-dark": ({"width": 1280, "height": 900}, "dark"),
    "390-light": ({"width": 390, "height": 844}, "light"),
    "390-dark": ({"width": 390, "height": 844}, "dark"),
    "320-light": ({"width": 320, "height": 640}, "light"),
}
# Colours follow the scheme and the layout follows the size: each page is judged by all rules in one view and by the
# rules for colours in the opposite one. Half of the pages take the first pair, half the second.
JUDGED: tuple[dict[str, Sequence[str]], ...] = (
    {"1280-light": axe.ALL, "390-dark": axe.COLOURS},
    {"390-light": axe.ALL, "1280-dark": axe.COLOURS},
)
ERRORS = [400, 403, 404, 409, 410, 429, 500]

SETTLE = """async () => {
  await document.fonts.ready;
  for (const animation of document.getAnimations()) {
    try {
      animation.finish();
    } catch {
      animation.cancel();
    }
  }
}"""


def take(page: Page, name: str) -> None:
    """Take a picture of the whole page for people to look at, in an exhaustive run."""
    if EXHAUSTIVE:
        path = FOLDER / f"{name}.png"
        page.screenshot(path=path, full_page=True, animations="disabled")


def overflows(page: Page) -> bool:
    """Whether a reader would have to scroll sideways, once the fonts are there."""
    page.evaluate("document.fonts.ready")
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert isinstance(wide, bool)
    return wide


def scanned(page: Page, selector: str = ".qr") -> str:
    """What a scanner reads in a part of the page as it is on the screen."""
    picture = page.locator(selector).screenshot(animations="disabled")
    command = ["zbarimg", "--quiet", "--raw", "-"]
    read = subprocess.run(command, input=picture, capture_output=True, check=True)
    return read.stdout.decode().strip()


def judged(name: str) -> Mapping[str, Sequence[str]]:
    """The views in which a page is judged, each with axe's rules; all of them in an exhaustive run."""
    if EXHAUSTIVE:
        return JUDGED[0] | JUDGED[1]
    return JUDGED[crc32(name.encode()) % len(JUDGED)]


def faults(page: Page, name: str, *, narrowest: int = 320, script: str = "[]") -> list[str]:
    """Return what is wrong with the page in every size from `narrowest` on and in both themes.

    Axe judges it, the screen, a scanner where there is a QR code, and `script`, which returns a list. An exhaustive run tries every pair of size and theme, and takes a picture of each: var/screenshots/<name>-<view>.png.
    """
    # A click returns as soon as the next page begins to arrive.
    page.wait_for_load_state()
    rules = judged(name)
    views = [
        view
        for view, (size, _) in VIEWS.items()
        if size["width"] >= narrowest and (EXHAUSTIVE or view in rules or view == "320-light")
    ]
    return [
        f"{view}: {fault}"
        for view in views
        for fault in [*_faults(page, view, name, rules.get(view)), *page.evaluate(script)]
    ]


def _faults(page: Page, view: str, name: str, rules: Sequence[str] | None) -> Iterator[str]:
    viewport, scheme = VIEWS[view]
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=scheme)
    # Colours are judged after their transition to the other scheme.
    page.evaluate(SETTLE)
    take(page, f"{name}-{view}")
    if overflows(page):
        yield "it is wider than the screen"
    if rules is None:
        return
    yield from axe.violations(page, rules=rules)
    if page.locator(".qr").count():
        address = page.locator("#address").inner_text()
        if address not in scanned(page):
            yield "its QR code does not hold the address"


@pytest.fixture
def still_page(open_context: Callable[..., BrowserContext]) -> Page:
    """A page that nothing moves on, with a wallet in it, so that its button is in the picture."""
    context = open_context(device_scale_factor=2, reduced_motion="reduce")
    context.add_init_script("window.ethereum = { request: async () => null }")
    return context.new_page()


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_whole_on_every_screen_and_clean_for_axe(state: str, still_page: Page, live_server: Any) -> None:
    made = STATES[state].make()
    still_page.goto(f"{live_server.url}/c/{made.code}{STATES[state].rest}")
    # Its button comes after a question to the wallet, and moves the code that a scanner reads.
    if still_page.locator("#wallets[data-family=evm]").count():
        expect(still_page.locator("[data-wallet-buttons] button").first).to_be_visible()
    assert faults(still_page, f"checkout-{state}") == []


def test_the_home_page_is_whole_on_every_screen_and_clean_for_axe(still_page: Page, live_server: Any) -> None:
    still_page.goto(live_server.url)
    assert faults(still_page, "home") == []


@pytest.mark.parametrize("status", ERRORS)
def test_every_error_page_is_whole_on_every_screen_and_clean_for_axe(
    status: int, still_page: Page, live_server: Any, complaints: list[str], settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.browser.failing_urls"
    answer = still_page.goto(f"{live_server.url}/fail/{status}")
    assert answer is not None
    assert answer.status == status
    assert faults(still_page, f"error-{status}") == []
    # The browser reports the status of the page itself, and nothing else.
    [complaint] = complaints
    assert f"status of {status}" in complaint
    complaints.clear()


@pytest.mark.parametrize("state", ["pending", "completed", "receipt"])
def test_a_screen_of_3840_pixels_has_larger_letters_and_no_longer_lines(
    state: str, open_context: Callable[..., BrowserContext], live_server: Any
) -> None:
    page = open_context(viewport={"width": 3840, "height": 2160}).new_page()
    page.goto(f"{live_server.url}/c/{STATES[state].make().code}{STATES[state].rest}")
    take(page, f"checkout-{state}-3840")
    sizes = page.evaluate(
        "[...document.querySelectorAll('p, dd')].filter((part) => part.offsetWidth)"
        ".map((part) => [parseFloat(getComputedStyle(part).fontSize), part.offsetWidth])"
    )
    assert min(size for size, _ in sizes) >= 16
    assert max(width / size for size, width in sizes) <= 60


def test_axe_sees_words_too_faint_to_read_and_a_control_without_a_name(still_page: Page, live_server: Any) -> None:
    still_page.goto(f"{live_server.url}/c/{STATES['pending'].make().code}")
    still_page.evaluate(
        "() => { document.querySelector('h1').style.color = '#ccc';"
        " document.querySelector('.copy').removeAttribute('aria-label');"
        " document.querySelector('.copy span').remove(); }"
    )
    rules = {found.partition(":")[0] for found in axe.violations(still_page)}
    assert rules >= {"color-contrast", "button-name"}
