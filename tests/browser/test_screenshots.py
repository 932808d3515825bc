"""Pictures of every state of the hosted page, for people to look at; what can be judged by machine is judged here."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize

from tests.browser import axe
from tests.browser.states import STATES
from tests.tree import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("chains_are_well"),
]

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
SIZES: tuple[ViewportSize, ...] = (
    {"width": 1280, "height": 900},
    {"width": 390, "height": 844},
    {"width": 320, "height": 640},
)
FOLDER = ROOT / "var" / "screenshots"
VIEWS: dict[str, tuple[ViewportSize, Scheme]] = {
    f"{size['width']}-{scheme}": (size, scheme) for size in SIZES for scheme in SCHEMES
}
# The narrowest screen has the other phone's colours.
del VIEWS["320-dark"]
# Colours follow the scheme and the layout the size: of a desktop's and of a phone's layout both schemes are judged,
# and all that does not hang on colours once.
JUDGED = {"1280-light", "390-dark"}
JUDGED_BY_COLOURS = {"1280-dark", "320-light"}
ERRORS = [400, 403, 404, 409, 410, 429, 500]


def take(page: Page, name: str) -> Path:
    """A picture of the whole page, once its fonts and logos are there."""
    page.evaluate("document.fonts.ready")
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path, full_page=True, animations="disabled")
    return path


def overflows(page: Page) -> bool:
    """Whether a reader would have to scroll sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert isinstance(wide, bool)
    return wide


def decoded(picture: Path) -> str:
    """What a scanner reads in a picture."""
    command = ["zbarimg", "--quiet", "--raw", str(picture)]
    read = subprocess.run(command, capture_output=True, text=True, check=True)
    return read.stdout.strip()


def faults(page: Page, view: str, name: str) -> list[str]:
    """Look at the page in a view, take its picture and say what is wrong with it."""
    viewport, scheme = VIEWS[view]
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=scheme)
    picture = take(page, f"{name}-{view}")
    found = ["it is wider than the screen"] if overflows(page) else []
    if view in JUDGED:
        found += axe.violations(page)
    if view in JUDGED_BY_COLOURS:
        found += axe.violations(page, rules=axe.COLOURS)
    if view in JUDGED | JUDGED_BY_COLOURS:
        found += _code_faults(page, picture)
    return found


def _code_faults(page: Page, picture: Path) -> list[str]:
    if not page.locator(".qr").count():
        return []
    address = page.locator("#address").inner_text()
    is_held = address in decoded(picture)
    return [] if is_held else ["its QR code does not hold the address"]


@pytest.fixture
def still_page(open_context: Callable[..., BrowserContext]) -> Page:
    """A page that nothing moves on, with a wallet in it, so that its button is in the picture."""
    context = open_context(device_scale_factor=2, reduced_motion="reduce")
    context.add_init_script("window.ethereum = { request: async () => null }")
    return context.new_page()


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_whole_on_every_screen_and_clean_for_axe(
    state: str, still_page: Page, live_server: Any
) -> None:
    made = STATES[state].make()
    still_page.goto(f"{live_server.url}/c/{made.code}{STATES[state].rest}")
    found = {view: faults(still_page, view, f"checkout-{state}") for view in VIEWS}
    assert found == {view: [] for view in VIEWS}


@pytest.mark.parametrize("status", ERRORS)
def test_every_error_page_is_whole_on_every_screen_and_clean_for_axe(
    status: int,
    still_page: Page,
    live_server: Any,
    complaints: list[str],
    settings: Any,
) -> None:
    settings.ROOT_URLCONF = "tests.browser.failing_urls"
    answer = still_page.goto(f"{live_server.url}/fail/{status}")
    assert answer is not None
    assert answer.status == status
    found = {view: faults(still_page, view, f"error-{status}") for view in VIEWS}
    assert found == {view: [] for view in VIEWS}
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


def test_axe_sees_words_too_faint_to_read_and_a_control_without_a_name(
    still_page: Page, live_server: Any
) -> None:
    still_page.goto(f"{live_server.url}/c/{STATES['pending'].make().code}")
    still_page.evaluate(
        "() => { document.querySelector('h1').style.color = '#ccc';"
        " document.querySelector('.copy').removeAttribute('aria-label');"
        " document.querySelector('.copy span').remove(); }"
    )
    rules = {found.partition(":")[0] for found in axe.violations(still_page)}
    assert rules >= {"color-contrast", "button-name"}
