"""Exact-amount networks in a real browser: choosing, copying and scanning what identifies the payment."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from checkouts.models import AmountReservation, Checkout
from checkouts.options import payment_request, qr_text
from checkouts.selectors import reserved_amount
from tests.browser.test_screenshots import VIEWS, scanned
from tests.checkouts.crowds import make_holders
from tests.checkouts.factories import EXACT_OFFERS, make_exact_checkout, make_exact_choice
from tests.factories import make_live_chain
from wallets.networks import chain_spec

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]


@pytest.fixture
def open_page(page: Page, live_server: Any) -> Callable[..., Page]:
    """Open a checkout's page."""

    def open_one(checkout: Checkout, query: str = "") -> Page:
        page.goto(f"{live_server.url}/c/{checkout.code}{query}")
        return page

    return open_one


def choose_token(page: Page, token: str) -> None:
    """Choose the token, and wait for its networks."""
    page.get_by_role("radio", name=token, exact=True).check(force=True)
    expect(page.get_by_text(f"Send only {token} on")).to_be_visible()


def amount() -> str:
    """The one amount that is reserved, as people type it."""
    return f"49.00{AmountReservation.objects.get().suffix:04}".rstrip("0")


def test_choosing_an_exact_network_shows_the_amount_without_a_reload(open_page: Callable[..., Page]) -> None:
    page = open_page(make_exact_checkout())
    page.evaluate("window.sameDocument = true")
    choose_token(page, "USDT")
    page.get_by_role("radio", name="Tron").check(force=True)
    expect(page.get_by_role("group", name="Send exactly")).to_be_visible()
    expect(page.get_by_role("group", name="Send exactly")).to_have_text(f"{amount()}USDT")
    expect(page).to_have_url(re.compile(r"\?chain=tron&token=USDT$"))
    page.get_by_role("radio", name="TON").check(force=True)
    expect(page.get_by_role("group", name="Comment (memo)")).to_have_text(AmountReservation.objects.get().memo)
    assert page.evaluate("window.sameDocument")
    page.reload()
    expect(page.get_by_role("group", name="Send exactly")).to_contain_text(amount())


def test_the_marked_digits_are_those_after_the_price(open_page: Callable[..., Page]) -> None:
    page = open_page(make_exact_choice(), "?chain=solana")
    expect(page.locator("mark")).to_have_text(amount().removeprefix("49.00"))


@pytest.mark.parametrize("what", ["amount", "address", "comment"])
def test_copying_takes_every_digit(what: str, open_page: Callable[..., Page]) -> None:
    page = open_page(make_exact_choice(), "?chain=ton")
    page.get_by_role("button", name=f"Copy the {what}").click()
    expect(page.locator("#announcer")).to_have_text(f"{what.capitalize()} copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    wanted = {
        "amount": amount(),
        "address": page.locator("#address").inner_text(),
        "comment": AmountReservation.objects.get().memo,
    }
    assert copied == wanted[what]


def test_without_scripts_a_form_shows_the_exact_amount(
    live_server: Any, open_context: Callable[..., BrowserContext]
) -> None:
    page = open_context(java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/c/{make_exact_checkout().code}")
    page.get_by_role("radio", name="USDT", exact=True).check(force=True)
    page.get_by_role("button", name="Show payment details").click()
    page.get_by_role("radio", name="Tron").check(force=True)
    page.get_by_role("button", name="Show payment details").click()
    expect(page.get_by_role("group", name="Send exactly")).to_contain_text(amount())
    expect(page.locator("#address")).to_have_text(EXACT_OFFERS["tron"]["wallet"])


def test_a_link_to_an_exact_network_asks_before_it_reserves(open_page: Callable[..., Page]) -> None:
    page = open_page(make_exact_checkout(), "?chain=ethereum&token=USDT")
    expect(page.get_by_text("Ethereum needs an exact amount.")).to_be_visible()
    assert AmountReservation.objects.count() == 0
    page.get_by_role("button", name="Show the exact amount").click()
    expect(page.get_by_text(f"Send exactly {amount()} USDT on Ethereum.")).to_be_visible()


def test_an_exhausted_price_leaves_the_other_networks(open_page: Callable[..., Page]) -> None:
    checkout = make_exact_checkout()
    make_holders(checkout.merchant, range(1, 10_000), price=checkout.amount)
    page = open_page(checkout)
    choose_token(page, "USDT")
    page.get_by_role("radio", name="Tron").check(force=True)
    expect(page.get_by_text("Every exact amount for $49.00 is in use.")).to_be_visible()
    expect(page.get_by_role("radio", name="Tron")).to_be_disabled()
    page.get_by_role("link", name="Pay on Base instead").click()
    expect(page.get_by_text("Send only USDC on Base.")).to_be_visible()


def test_an_open_page_hides_the_address_when_its_network_goes_down(open_page: Callable[..., Page]) -> None:
    page = open_page(make_exact_choice(), "?chain=tron")
    expect(page.locator("#address")).to_be_visible()
    make_live_chain("tron", halted_reason="two nodes disagree")
    expect(page.get_by_text("Tron contradicts what it told us.")).to_be_visible()
    expect(page.locator("#address")).to_be_hidden()
    make_live_chain("tron", halted_reason="", head_time=timezone.now())
    expect(page.locator("#address")).to_be_visible()


@pytest.mark.parametrize("chain", EXACT_OFFERS)
def test_the_code_on_the_screen_holds_what_the_networks_wallets_read(chain: str, page: Page, live_server: Any) -> None:
    checkout = make_exact_choice()
    page.goto(f"{live_server.url}/c/{checkout.code}?chain={chain}")
    token = EXACT_OFFERS[chain]["tokens"][0]
    held = reserved_amount(checkout, now=timezone.now())
    request = payment_request(checkout, chain_spec(chain), token, reserved=held)
    assert request is not None
    for viewport, _ in VIEWS.values():
        page.set_viewport_size(viewport)
        assert scanned(page) == qr_text(replace(request, until=checkout.expires_at))
