"""The page of exact-amount networks, and of networks that are not well, worked out from plain data."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import AmountReservation, Checkout
from checkouts.page.build import Conditions
from checkouts.page.state import CheckoutPage, Choice
from checkouts.states import CheckoutStatus
from tests.checkouts.factories import ADDRESS, EXACT_OFFERS, OFFERS
from tests.checkouts.page.test_state import OVER, a_checkout, a_transfer, page_of, payment_of
from wallets.states import ChainStatus

MEMO = "0123456789abcdef"


def an_exact_checkout(**overrides: Any) -> Checkout:
    return a_checkout(**({"offers": OFFERS | EXACT_OFFERS} | overrides))


def reserving(suffix: int = 137, price: str = "49.00") -> Conditions:
    reserved = AmountReservation(
        merchant=Merchant(name="Halden Roasters"),
        price=Decimal(price),
        suffix=suffix,
        reference=bytes(range(32)),
        memo=MEMO,
    )
    return Conditions(reserved=reserved)


def page_on(chain: str, conditions: Conditions, checkout: Checkout | None = None) -> CheckoutPage:
    return page_of(checkout or an_exact_checkout(), choice=Choice(chain), conditions=conditions)


@pytest.mark.parametrize(
    ("suffix", "amount", "marked"),
    [
        (137, "49.000137", "0137"),
        (1300, "49.0013", "13"),
        (9900, "49.0099", "99"),
        (1, "49.000001", "0001"),
        (9990, "49.00999", "999"),
        (1000, "49.001", "1"),
    ],
)
def test_the_digits_that_identify_the_checkout_are_told_from_the_price(suffix: int, amount: str, marked: str) -> None:
    payment = payment_of(page_on("tron", reserving(suffix)))
    assert payment.amount == amount
    assert (payment.price_digits, payment.own_digits) == (["49.00"], marked)


def test_no_digit_is_marked_where_the_address_identifies() -> None:
    payment = payment_of(page_on("base", reserving()))
    assert (payment.amount, payment.own_digits) == ("49.00", "")
    assert (payment.memo, payment.fills_amount) == ("", False)


@pytest.mark.parametrize("chain", EXACT_OFFERS)
def test_one_reserved_amount_is_shown_on_every_exact_network(chain: str) -> None:
    page = page_on(chain, reserving())
    assert payment_of(page).amount == "49.000137"
    assert page.target is not None
    assert page.target.network.is_exact


@pytest.mark.parametrize("chain", EXACT_OFFERS)
def test_nothing_is_shown_to_send_to_before_the_amount_is_reserved(chain: str) -> None:
    page = page_on(chain, Conditions())
    assert page.target is not None
    assert page.target.payment is None
    assert EXACT_OFFERS[chain]["wallet"] not in repr(page)


@pytest.mark.parametrize("status", CheckoutStatus)
def test_no_wallet_is_in_a_page_after_the_time_to_pay(status: CheckoutStatus) -> None:
    page = page_of(an_exact_checkout(status=status), conditions=reserving(), now=OVER)
    for offer in EXACT_OFFERS.values():
        assert offer["wallet"] not in repr(page)


def test_each_network_says_in_its_own_way_whose_payment_it_is() -> None:
    pages = {chain: payment_of(page_on(chain, reserving())) for chain in EXACT_OFFERS}
    assert {chain: p.memo for chain, p in pages.items() if p.memo} == {"ton": MEMO}
    assert [chain for chain, p in pages.items() if p.has_reference] == ["solana"]
    assert [chain for chain, p in pages.items() if p.fills_amount] == ["solana", "ton"]
    assert "amount=49.000137" in pages["solana"].qr_text
    assert f"text={MEMO}" in pages["ton"].qr_text


def test_on_ton_the_page_shows_the_address_as_wallets_do() -> None:
    payment = payment_of(page_on("ton", reserving()))
    assert payment.address.startswith("UQ")
    assert payment.address in payment.qr_text


def test_an_ethereum_wallet_is_asked_for_the_exact_amount() -> None:
    wallet = payment_of(page_on("ethereum", reserving())).wallet
    assert wallet is not None
    assert (wallet.chain_id, wallet.units) == ("0x1", 49_000_137)
    assert wallet.to == EXACT_OFFERS["ethereum"]["wallet"]
    test_page = page_on("ethereum", reserving(), an_exact_checkout(mode=Mode.TEST))
    assert payment_of(test_page).wallet is None
    assert payment_of(test_page).links == ()


def test_an_app_opens_this_very_page() -> None:
    [link, _] = payment_of(page_on("tron", reserving())).links
    assert "%2Fc%2Fcode%3Fchain%3Dtron" in link.url


def test_an_exact_network_comes_first_only_where_it_can_be_paid_at_once() -> None:
    only_exact = an_exact_checkout(offers=EXACT_OFFERS)
    assert chosen(page_of(only_exact)) == "solana"
    assert chosen(page_of(an_exact_checkout())) == "base"
    assert chosen(page_of(an_exact_checkout(), conditions=reserving())) == "base"


def chosen(page: CheckoutPage) -> str:
    [card] = [card for card in page.networks if card.is_chosen]
    return card.chain


def test_a_short_payment_asks_for_a_fresh_amount_on_its_network() -> None:
    checkout = an_exact_checkout(status=CheckoutStatus.UNDERPAID, amount_received=Decimal("20.5"))
    row = a_transfer(20_500_000, confirmations=12, chain="solana")
    before = page_of(checkout, row)
    assert chosen(before) == "solana"
    assert before.target is not None
    assert before.target.payment is None
    after = page_of(checkout, row, conditions=reserving(200, "28.50"))
    assert payment_of(after).amount == "28.5002"


def test_a_network_that_is_down_shows_no_address_and_is_not_chosen_for_anybody() -> None:
    down = Conditions(statuses={"base": ChainStatus.DOWN})
    assert chosen(page_of(a_checkout(), conditions=down)) == "polygon"
    page = page_on("base", down)
    assert page.target is not None
    assert page.target.network.is_down
    assert page.target.payment is None
    assert page.round_price_network is not None
    assert page.round_price_network.chain == "polygon"
    assert ADDRESS not in repr(replace(page, networks=()))


def test_when_all_are_down_the_first_is_shown_as_such() -> None:
    down = Conditions(statuses=dict.fromkeys(OFFERS, ChainStatus.DOWN))
    page = page_of(a_checkout(), conditions=down)
    assert chosen(page) == "base"
    assert page.round_price_network is None
    assert ADDRESS not in repr(page)


def test_a_slow_network_is_marked_and_can_be_paid_on() -> None:
    slow = Conditions(statuses={"base": ChainStatus.DELAYED})
    page = page_of(a_checkout(), conditions=slow)
    assert [card.is_slow for card in page.networks] == [True, False]
    assert payment_of(page).address == ADDRESS


def test_an_exhausted_price_closes_the_exact_networks_alone() -> None:
    full = Conditions(is_full=True)
    page = page_of(an_exact_checkout(), conditions=full)
    assert [card.chain for card in page.networks if card.is_full] == list(EXACT_OFFERS)
    assert chosen(page) == "base"
    assert page_on("tron", full).target is not None
    assert chosen(page_on("tron", full)) == "tron"
