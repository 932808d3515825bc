"""The documentation's pictures, made in Chromium from the demo that runs; `script/screenshots` is the command."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from demo.gateway_api import GatewayApi
from demo.payments import Wish, pay_checkout
from demo.settings_file import DemoSettings, read_settings
from tests.browser.conftest import CHROMIUM_FLAGS, find_chromium
from tests.tree import ROOT
from tests.waiting import wait_until

IMAGES: Final = ROOT / "docs" / "images"
SETTINGS_FILE: Final = ROOT / "var" / "demo.json"
_COLOURS: Final = 128
_CHECKOUT: Final = {"amount": "49.00", "currency": "USD", "description": "Coffee beans, two pounds", "metadata": {}}
_SALES: Final = ("49.00", "18.50", "140.00", "25.00", "72.00")
_LINK: Final = {
    "type": "donation",
    "title": "Keep the harbour lights on",
    "description": "Each lamp burns a year for 120 dollars.",
    "suggested_amounts": ["10.00", "25.00", "100.00"],
}


def shoot_start(page: Page, demo: DemoSettings) -> None:
    """Open the demo's first page."""
    page.goto(f"{demo.base_url}/")


def shoot_checkout(page: Page, demo: DemoSettings) -> None:
    """Open the page of a new checkout, where it shows an address to pay to."""
    made = _api(demo).post("/checkouts", _CHECKOUT)
    page.goto(made["checkout_url"])


def shoot_link(page: Page, demo: DemoSettings) -> None:
    """Open the page of a new payment link for donations."""
    made = _api(demo).post("/links", _LINK)
    page.goto(made["url"])


def shoot_dashboard(page: Page, demo: DemoSettings) -> None:
    """Log in by the form that the demo fills in, and open the overview of paid checkouts."""
    _pay_some(demo)
    page.goto(f"{demo.base_url}/account/login/")
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url("**/dashboard/**")


PICTURES: Final[dict[str, Callable[[Page, DemoSettings], None]]] = {
    "start": shoot_start,
    "checkout": shoot_checkout,
    "link": shoot_link,
    "dashboard": shoot_dashboard,
}


def _pay_some(demo: DemoSettings) -> None:
    """Pay new checkouts on the demo's chains, and wait until they are completed."""
    made = [
        (_api(demo).post("/checkouts", _CHECKOUT | {"amount": amount}), chain)
        for amount, chain in zip(_SALES, cycle(demo.chains), strict=False)
    ]
    for checkout, chain in made if demo.chains else []:
        pay_checkout(demo, checkout["id"], Wish(chain))
    for checkout, _ in made:
        wait_until(partial(_is_paid, checkout["checkout_url"]), pause=1)


def _is_paid(checkout_url: str) -> bool:
    with urlopen(f"{checkout_url}/status") as answer:
        return bool(json.load(answer)["status"] == "completed")


def _api(demo: DemoSettings) -> GatewayApi:
    key = demo.credentials.live_key if demo.chains else demo.credentials.test_key
    return GatewayApi(demo.base_url, key)


def small_png(picture: bytes) -> bytes:
    """Return a PNG with a palette: a page has few colours, and the file is a third of the size."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    buffer = io.BytesIO()
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the Chromium that the tests use."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


def take(browser: Browser, demo: DemoSettings, name: str, **context: Any) -> bytes:
    """Return the picture called `name` as Chromium makes it, in a context of its own."""
    opened = browser.new_context(locale="en-GB", timezone_id="UTC", **context)
    page = opened.new_page()
    PICTURES[name](page, demo)
    page.evaluate("document.fonts.ready")
    picture = page.screenshot(animations="disabled")
    opened.close()
    return picture


def main() -> int:
    """Write docs/images/*.png. Returns the exit code."""
    try:
        demo = read_settings(Path(SETTINGS_FILE))
    except FileNotFoundError:
        sys.stderr.write("Start script/demo first.\n")
        return 1
    size = {"width": 1280, "height": 800}
    with open_browser() as browser:
        for name in PICTURES:
            path = IMAGES / f"{name}.png"
            picture = take(browser, demo, name, viewport=size, device_scale_factor=2)
            path.write_bytes(small_png(picture))
            sys.stdout.write(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes\n")
    return 0
