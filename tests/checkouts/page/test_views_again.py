"""A buyer who came too late starts again, where the merchant lets buyers do that."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Merchant
from checkouts.exact.exhaustion import note_exhausted
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.factories import ADDRESS, EXACT_OFFERS, make_closed, make_completed, make_page_checkout, move, pay
from tests.checkouts.page.late import again, expired
from tests.checkouts.page.test_views import page_of, words_in
from tests.factories import make_merchant, make_wallet
from wallets.models import ReceivingWallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


def test_merchants_say_whether_buyers_may_and_first_they_may_not(client: Client) -> None:
    merchant = make_merchant()
    make_wallet(merchant)
    old = expired(merchant)
    assert "Start again" not in page_of(client, old)
    assert again(client, old)["Location"] == f"/c/{old.code}"
    assert Checkout.objects.count() == 1


@pytest.mark.parametrize("make", [make_page_checkout, make_closed, make_completed])
def test_only_what_expired_is_made_afresh(make: Any, retry_shop: Merchant, client: Client) -> None:
    checkout = make(merchant=retry_shop)
    assert "Start again" not in page_of(client, checkout)
    assert again(client, checkout)["Location"] == f"/c/{checkout.code}"
    assert Checkout.objects.count() == 1


def test_nobody_is_asked_for_the_whole_price_after_part_of_it(retry_shop: Merchant, client: Client) -> None:
    checkout = make_closed(merchant=retry_shop)
    pay(checkout, 20_000_000, confirmations=12)
    move(checkout, CheckoutStatus.EXPIRED)
    text = page_of(client, checkout)
    assert "Only 20.00 USDC of 49.00 arrived in time" in text
    assert "Start again" not in text
    assert again(client, checkout)["Location"] == f"/c/{checkout.code}"


def test_a_checkout_of_a_payment_link_is_made_afresh_only_there(retry_shop: Merchant, client: Client) -> None:
    old = expired(retry_shop, metadata='{"link_id": "lnk_1"}')
    assert "Start again" not in page_of(client, old)
    assert again(client, old)["Location"] == f"/c/{old.code}"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_other_sites_cannot_start_again_for_a_buyer(site: str, retry_shop: Merchant, client: Client) -> None:
    old = expired(retry_shop)
    answer = again(client, old, **{"Sec-Fetch-Site": site})
    assert answer["Location"] == f"/c/{old.code}"
    assert Checkout.objects.count() == 1


def test_asked_for_by_get_it_makes_nothing(retry_shop: Merchant, client: Client) -> None:
    old = expired(retry_shop)
    asked = client.get(f"/c/{old.code}/again")
    assert (asked.status_code, asked["Location"]) == (303, f"/c/{old.code}")
    assert Checkout.objects.count() == 1


def test_an_unknown_code_cannot_be_made_afresh(client: Client) -> None:
    assert client.post("/c/nnnnnn/again").status_code == 404


def test_without_a_wallet_the_buyer_is_told_whom_to_ask(retry_shop: Merchant, client: Client) -> None:
    old = expired(retry_shop)
    ReceivingWallet.objects.all().delete()
    answer = again(client, old)
    assert answer.status_code == 409
    text = words_in(answer)
    assert "Halden Roasters can't take this payment right now" in text
    assert "has not set up a network" in text
    assert Checkout.objects.count() == 1


def test_without_an_amount_left_the_buyer_is_told_to_wait(client: Client) -> None:
    merchant = make_merchant(buyers_may_retry=True)
    make_wallet(merchant, "tron", EXACT_OFFERS["tron"]["wallet"])
    old = expired(merchant)
    note_exhausted(merchant.pk, old.mode, old.amount, now=timezone.now())
    answer = again(client, old)
    assert answer.status_code == 409
    assert "Try again in a few minutes" in words_in(answer)


def test_starting_again_is_limited_by_code_and_client(retry_shop: Merchant, client: Client, time_machine: Any) -> None:
    old = expired(retry_shop)
    time_machine.move_to(timezone.now().replace(second=30), tick=False)
    answers = [again(client, old).status_code for _ in range(11)]
    assert answers == [303] * 10 + [429]


@pytest.mark.parametrize("may_retry", [True, False])
def test_an_expired_page_shows_no_address_and_says_what_becomes_of_late_money(may_retry: bool, client: Client) -> None:
    old = expired(make_merchant(buyers_may_retry=may_retry))
    text = page_of(client, old)
    assert ADDRESS not in text
    assert "Late money is not lost" in text
    assert "Please don't pay twice" in text
    assert old.public_id in text
