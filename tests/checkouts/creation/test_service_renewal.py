"""A checkout made afresh for a buyer who came too late."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout, InboxItem, TestStep
from checkouts.reservations import note_exhausted
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from checkouts.states import TestScenario as Scenario
from tests.checkouts.factories import (
    ADDRESS,
    EXACT_OFFERS,
    make_closed,
    make_completed,
    make_expired,
    make_page_checkout,
    move,
    pay,
)
from tests.checkouts.page.test_views import page_of, words_in
from tests.factories import make_merchant, make_transfer, make_wallet
from wallets.models import ReceivingWallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

SAME = (
    "amount",
    "currency",
    "description",
    "metadata",
    "customer_ref",
    "product_ref",
    "order_ref",
    "customer_email",
    "redirect_url",
    "webhook_url",
    "mode",
    "merchant_id",
)


def expired(merchant: Merchant, **overrides: Any) -> Checkout:
    return make_expired(merchant=merchant, webhook_url="https://shop.example/hook", **overrides)


def again(client: Client, checkout: Checkout, **headers: str) -> Any:
    return client.post(f"/c/{checkout.code}/again", headers=headers)


def fresh_of(answer: Any, old: Checkout) -> Checkout:
    assert answer.status_code == 303
    assert answer["Cache-Control"] == "no-store"
    fresh = Checkout.objects.get(code=answer["Location"].removeprefix("/c/"))
    assert fresh.pk != old.pk
    return fresh


def test_starting_again_makes_the_same_checkout_with_new_time_and_a_new_address(
    retry_shop: Merchant, client: Client
) -> None:
    old = expired(retry_shop)
    assert "Start again" in page_of(client, old)
    fresh = fresh_of(again(client, old), old)
    assert {name: getattr(fresh, name) for name in SAME} == {name: getattr(old, name) for name in SAME}
    assert fresh.status == CheckoutStatus.PENDING
    assert fresh.expires_at > timezone.now() + timedelta(minutes=29)
    assert fresh.offers["base"]["address"] != ADDRESS
    old.refresh_from_db()
    assert old.status == CheckoutStatus.EXPIRED


def test_the_order_ref_of_the_first_does_not_lead_back_to_it(retry_shop: Merchant, client: Client) -> None:
    old = expired(retry_shop, creation_ref="secret-order")
    fresh = fresh_of(again(client, old), old)
    assert fresh.order_ref == "secret-order"


def test_starting_again_and_again_leads_to_one_checkout(retry_shop: Merchant, client: Client) -> None:
    old = expired(retry_shop)
    codes = {again(client, old)["Location"] for _ in range(3)}
    assert len(codes) == 1
    assert Checkout.objects.count() == 2


def test_a_second_try_that_expires_too_may_be_followed_by_a_third(retry_shop: Merchant, client: Client) -> None:
    first = expired(retry_shop)
    second = fresh_of(again(client, first), first)
    move(second, CheckoutStatus.EXPIRED)
    third = fresh_of(again(client, second), second)
    assert third.pk not in {first.pk, second.pk}


def test_nobody_is_asked_a_third_time_while_late_money_of_the_first_try_waits(
    retry_shop: Merchant, client: Client
) -> None:
    first = expired(retry_shop)
    second = fresh_of(again(client, first), first)
    item = InboxItem.objects.create(
        merchant=retry_shop,
        mode=first.mode,
        transfer=make_transfer(first, 49_000_000),
        checkout=first,
        reason=InboxReason.LATE,
        explanation="",
        created_at=timezone.now(),
    )
    move(second, CheckoutStatus.EXPIRED)
    answer = again(client, second)
    assert answer["Location"] == f"/c/{first.code}"
    assert "Start again" not in page_of(client, first)
    item.status = InboxStatus.DISMISSED
    item.save()
    assert fresh_of(again(client, second), second).pk != first.pk


def test_in_test_mode_the_second_try_goes_well(retry_shop: Merchant, client: Client) -> None:
    now = timezone.now()
    old = expired(retry_shop, mode=Mode.TEST, test_scenario=Scenario.EXPIRED, expires_at=now - timedelta(seconds=5))
    fresh = fresh_of(again(client, old), old)
    assert fresh.test_scenario == Scenario.COMPLETED
    assert list(TestStep.objects.values_list("checkout", "kind")) == [(fresh.pk, "pay")]


def test_a_time_cut_short_is_not_handed_on(retry_shop: Merchant, client: Client) -> None:
    created_at = timezone.now() - timedelta(seconds=20)
    old = make_page_checkout(retry_shop, created_at=created_at, expires_at=created_at + timedelta(seconds=5))
    move(old, CheckoutStatus.EXPIRED)
    fresh = fresh_of(again(client, old), old)
    assert fresh.expires_at - fresh.created_at == timedelta(minutes=5)


# A buyer who came too late starts again, where the merchant lets buyers do that.


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
