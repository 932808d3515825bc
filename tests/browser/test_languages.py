"""The pages in other languages in a real browser: right to left, in other scripts, and on through every step."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as configured
from playwright.sync_api import BrowserContext, Page, expect

from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.browser import axe
from tests.browser.conftest import PHONE
from tests.browser.states import STATES
from tests.browser.test_screenshots import faults, overflows, take
from tests.checkouts.factories import ADDRESS, make_exact_checkout, make_page_checkout, move, pay
from tests.links.factories import make_donation, make_subscription_link

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

# Every face of the page that says something of its own.
ARABIC = ["underpaid", "seen", "expired", "exact-ton", "receipt"]
LINKS = {"donation": make_donation, "subscription": make_subscription_link}
# Where a box ends, seen from where lines begin.
LEFT_OF = (
    "([first, second]) => [first, second].map((part) => document.querySelector(part).getBoundingClientRect().left)"
)

# How far the words of each value are from the left end of its line.
GAPS = """(values) => values.map((value) => {
  const words = document.createRange();
  words.selectNodeContents(value);
  return words.getBoundingClientRect().left - value.parentElement.getBoundingClientRect().left;
})"""


def with_language(rest: str, code: str) -> str:
    """The rest of a page's address, in a language."""
    return f"{rest}{'&' if '?' in rest else '?'}lang={code}"


@pytest.mark.parametrize("state", ARABIC)
def test_arabic_is_whole_on_every_screen_and_clean_for_axe(state: str, still_page: Page, live_server: Any) -> None:
    made = STATES[state].make()
    rest = with_language(STATES[state].rest, "ar")
    still_page.goto(f"{live_server.url}/c/{made.code}{rest}")
    expect(still_page.locator("html")).to_have_attribute("dir", "rtl")
    assert faults(still_page, f"arabic-{state}") == []


def test_hashes_and_amounts_in_arabic_stand_at_the_same_end_of_their_lines(still_page: Page, live_server: Any) -> None:
    made = STATES["seen"].make()
    rest = with_language(STATES["seen"].rest, "ar")
    still_page.goto(f"{live_server.url}/c/{made.code}{rest}")
    expect(still_page.locator('.receipt dd[dir="ltr"]').first).to_be_visible()
    gaps = still_page.locator(".receipt dd").evaluate_all(GAPS)
    assert len(gaps) >= 5
    assert max(gaps) < 1


@pytest.mark.parametrize("kind", LINKS)
def test_links_in_arabic_are_whole_on_every_screen_and_clean_for_axe(
    kind: str, still_page: Page, live_server: Any
) -> None:
    still_page.goto(f"{live_server.url}/p/{LINKS[kind]().code}?lang=ar")
    assert faults(still_page, f"arabic-link-{kind}") == []


def test_no_language_is_wider_than_a_small_phone(still_page: Page, live_server: Any) -> None:
    still_page.set_viewport_size({"width": 320, "height": 640})
    path = f"/c/{make_exact_checkout().code}?languages=1&lang="
    for code, _ in configured.LANGUAGES:
        still_page.goto(f"{live_server.url}{path}{code}")
        expect(still_page.locator("html")).to_have_attribute("lang", code)
        take(still_page, f"language-{code}")
        assert not overflows(still_page), code


def test_arabic_begins_at_the_right_and_amounts_stay_as_people_type_them(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}?lang=ar")
    main, summary = page.evaluate(LEFT_OF, ["main", ".summary"])
    assert main < summary
    button, value = page.evaluate(LEFT_OF, ["#copy-amount", ".field__value--amount"])
    assert button < value
    for part in ("#address", ".field__value--amount"):
        direction = page.locator(part).evaluate("(it) => getComputedStyle(it).direction")
        assert direction == "ltr"
    expect(page.locator("#address")).to_have_text(ADDRESS)
    page.locator("#copy-amount").click()
    expect(page.locator("#announcer")).to_have_text("نُسخ المبلغ")
    assert page.evaluate("navigator.clipboard.readText()") == "49.00"


def test_an_arrow_points_the_way_lines_are_read(page: Page, live_server: Any) -> None:
    checkout = STATES["expired"].make()
    arrow = page.locator(".icon--ahead").first
    flip = "(icon) => new DOMMatrix(getComputedStyle(icon).transform).a"
    page.goto(f"{live_server.url}/c/{checkout.code}")
    assert arrow.evaluate(flip) == 1
    page.goto(f"{live_server.url}/c/{checkout.code}?lang=ar")
    assert arrow.evaluate(flip) == -1


def test_the_language_lasts_through_choosing_and_paying(page: Page, live_server: Any) -> None:
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}?lang=de")
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.get_by_text("Senden Sie nur USDC über Polygon.")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?chain=polygon&token=USDC&lang=de$"))
    pay(checkout, 49_000_000, confirmations=3)
    move(checkout, CheckoutStatus.PROCESSING)
    # Drawn anew from the status, and said aloud.
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Zahlung erkannt. Wird bestätigt …")
    expect(page.locator("#announcer")).to_have_text(re.compile("nichts weiter senden"))
    assert page.title().startswith("Ihre Zahlung wird bestätigt")


def test_a_browsers_own_language_needs_no_parameter(
    open_context: Callable[..., BrowserContext], live_server: Any
) -> None:
    page = open_context(locale="fr-CA").new_page()
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    expect(page.get_by_text("Envoyez uniquement USDC sur Base.")).to_be_visible()
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.get_by_text("Envoyez uniquement USDC sur Polygon.")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?chain=polygon&token=USDC$"))
    assert page.context.cookies() == []


@pytest.mark.parametrize("scripts", [True, False])
def test_another_language_is_chosen_from_a_list(
    scripts: bool, open_context: Callable[..., BrowserContext], live_server: Any
) -> None:
    context = open_context(java_script_enabled=scripts, viewport=PHONE)
    page = context.new_page()
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}?chain=polygon")
    page.get_by_role("link", name="Language: English").click()
    expect(page.get_by_role("navigation", name="Language").get_by_role("link")).to_have_count(len(configured.LANGUAGES))
    page.get_by_role("link", name="Deutsch").click()
    expect(page.get_by_text("Senden Sie nur USDC über Polygon.")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")


def test_a_donation_goes_from_link_to_checkout_in_one_language(
    page: Page, live_server: Any, complaints: list[str]
) -> None:
    page.goto(f"{live_server.url}/p/{make_donation().code}?lang=es")
    page.get_by_label("Importe en dólares").fill("1")
    page.get_by_role("button", name="Continuar al pago").click()
    expect(page.get_by_text(re.compile("Escriba un importe de"))).to_be_visible()
    assert axe.violations(page) == []
    page.get_by_label("Importe en dólares").fill("25")
    page.get_by_role("button", name="Continuar al pago").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Elija cómo pagar")
    expect(page).to_have_url(re.compile(rf"/c/{Checkout.objects.get().code}\?lang=es$"))
    complaints.clear()  # the 400 of the first try
