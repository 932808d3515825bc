"""Pages in a merchant's own look: whole and readable whatever the colour, and as light as the others."""

import io
from collections.abc import Callable
from typing import Any, cast

import pytest
from django.utils import timezone
from PIL import Image, ImageDraw
from playwright.sync_api import BrowserContext, Page, expect

from accounts.brand.service import BrandingChanges, change_branding
from accounts.models import Merchant
from demo.shop.logo import shop_logo
from tests.browser.test_screenshots import faults
from tests.checkouts.factories import make_completed, make_page_checkout, make_seen
from tests.exhaustive import sample
from tests.factories import make_merchant
from tests.links.factories import make_donation, make_link

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

# The first is what a merchant may well choose; the others cannot be drawn as they are.
ACCENTS = {"green": "#0b6e4f", "yellow": "#ffff00", "black": "#000000", "white": "#ffffff"}
FACES: dict[str, Callable[[Merchant], str]] = {
    "checkout": lambda merchant: f"/c/{make_page_checkout(merchant).code}",
    "seen": lambda merchant: f"/c/{make_seen(merchant=merchant).code}",
    "paid": lambda merchant: f"/c/{make_completed(merchant=merchant, redirect_url='').code}",
    "receipt": lambda merchant: f"/c/{make_completed(merchant=merchant).code}/receipt",
    "donation": lambda merchant: f"/p/{make_donation(merchant).code}",
    "paused": lambda merchant: f"/p/{make_link(merchant, status='paused').code}",
}


def a_wordmark() -> bytes:
    """A wide logo of black on nothing, as many are."""
    picture = Image.new("RGBA", (480, 96))
    pen = ImageDraw.Draw(picture)
    pen.ellipse((4, 8, 84, 88), fill="black")
    pen.rectangle((108, 34, 470, 62), fill="black")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def make_branded(**overrides: Any) -> Merchant:
    """A merchant that says everything about its pages."""
    merchant = make_merchant("Halden Coffee Trading GmbH & Co. KG")
    changes: dict[str, Any] = {
        "display_name": "Halden Roasters",
        "logo": shop_logo(),
        "accent": ACCENTS["green"],
        "support_url": "https://halden.example/help",
        "terms_url": "https://halden.example/terms",
        "return_label": "Back to the beans",
    }
    wanted = cast("BrandingChanges", changes | overrides)
    change_branding(merchant, changes=wanted, now=timezone.now())
    return merchant


# Each face in a colour somebody may choose, and the colours nobody should on the faces that draw most with them.
LOOKS = [
    *((face, "green") for face in FACES),
    *sample([(face, name) for name in ("yellow", "black", "white") for face in ("checkout", "donation")], 3),
]


@pytest.mark.parametrize(("face", "name"), LOOKS)
def test_a_branded_page_is_whole_on_every_screen_and_clean_for_axe(
    face: str, name: str, live_server: Any, open_context: Callable[..., BrowserContext]
) -> None:
    logo = shop_logo() if name == "green" else a_wordmark()
    merchant = make_branded(accent=ACCENTS[name], logo=logo)
    page = open_context(device_scale_factor=2, reduced_motion="reduce").new_page()
    page.goto(live_server.url + FACES[face](merchant))
    expect(page.get_by_text("Halden Roasters").first).to_be_visible()
    assert "Trading" not in page.content()
    assert drawn_in(page, "--brand") == ACCENTS[name]
    if face != "paused":
        assert page.evaluate(LOGO_IS_THERE)
    assert faults(page, f"brand-{face}-{name}") == []


LOGO_IS_THERE = "document.querySelector('img[src^=\"/brand/\"]').naturalWidth > 0"


def drawn_in(page: Page, token: str) -> str:
    """The value of a custom property on the page."""
    style = "getComputedStyle(document.documentElement)"
    value = page.evaluate(f"{style}.getPropertyValue('{token}')")
    assert isinstance(value, str)
    return value


def test_help_and_terms_open_beside_the_payment_and_learn_nothing_of_it(page: Page, live_server: Any) -> None:
    page.goto(live_server.url + FACES["checkout"](make_branded()))
    for words in ("Need help?", "Terms"):
        link = page.get_by_role("link", name=words)
        expect(link).to_be_visible()
        expect(link).to_have_attribute("target", "_blank")
        expect(link).to_have_attribute("rel", "noreferrer noopener")


def test_a_branded_page_asks_for_at_most_fifteen_things(page: Page, live_server: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(live_server.url + FACES["checkout"](make_branded()))
    page.evaluate("document.fonts.ready")
    page.wait_for_load_state("load")
    # What it asks for later is no part of opening it.
    later = ("/stream", "/status", "/offline", "/offline.js", "/offline.css")
    once = {url.partition("#")[0] for url in asked if not url.partition("?")[0].endswith(later)}
    assert len(once) <= 15, sorted(once)
    assert sum("/brand/" in url for url in once) == 2


def test_paper_stays_black_on_white_in_every_colour(page: Page, live_server: Any) -> None:
    page.goto(live_server.url + FACES["receipt"](make_branded(accent="#ffff00")))
    page.emulate_media(media="print", color_scheme="dark")
    assert drawn_in(page, "--brand-text") == "#000000"


def test_branded_pages_work_without_javascript(live_server: Any, open_context: Callable[..., BrowserContext]) -> None:
    page = open_context(java_script_enabled=False).new_page()
    page.goto(live_server.url + FACES["checkout"](make_branded()))
    expect(page.locator(".merchant img")).to_be_visible()
    expect(page.get_by_role("link", name="Need help?")).to_be_visible()
