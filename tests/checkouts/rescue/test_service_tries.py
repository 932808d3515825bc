"""A buyer who began again asks about a payment of another try: a wrong answer here makes people pay twice."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.states import Mode
from checkouts.models import BuyerReport, Checkout
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from tests.checkouts.factories import make_expired, make_page_checkout, move, pay
from tests.checkouts.page.test_views import words_in
from tests.checkouts.questions import UNKNOWN, answer, ask, send, to_inbox
from tests.factories import make_merchant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

OTHER_ADDRESS = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"


def made_afresh(checkout: Checkout, **values: Any) -> Checkout:
    return make_page_checkout(
        checkout.merchant,
        creation_ref=f"again:{checkout.public_id}",
        offers={"base": {"tokens": ["USDC"], "address": OTHER_ADDRESS}},
        **values,
    )


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_who_paid_too_late_and_began_again_is_told_on_the_page_that_was_paid(tries: int, client: Client) -> None:
    paid = make_expired()
    late = send(paid, block_time=paid.expires_at + timedelta(minutes=4))
    to_inbox(paid, InboxReason.LATE, late)
    asked = paid
    for _ in range(tries):
        move(asked, CheckoutStatus.EXPIRED)
        asked = made_afresh(asked)
    location = ask(client, asked, late.tx_hash)["Location"]
    assert location == f"/c/{paid.code}?found={late.tx_hash}"
    told = answer(client, asked, late.tx_hash)
    assert "Your 49.00 USDC on Base arrived 4 minutes after this checkout expired" in told
    assert "Don't pay again" in told
    assert BuyerReport.objects.get().checkout == paid


def test_who_began_again_and_paid_is_told_on_the_page_that_was_left(client: Client) -> None:
    left = make_expired()
    fresh = made_afresh(left)
    transfer = pay(fresh, confirmations=12)
    move(fresh, CheckoutStatus.COMPLETED)
    assert "We received your payment" in answer(client, left, transfer.tx_hash)
    assert BuyerReport.objects.get().checkout == fresh


def test_what_was_for_neither_try_is_told_on_the_page_where_it_was_asked(client: Client) -> None:
    asked = made_afresh(make_expired())
    location = ask(client, asked, UNKNOWN)["Location"]
    assert location == f"/c/{asked.code}?found={UNKNOWN}"
    assert BuyerReport.objects.get().checkout == asked


def test_no_order_ref_leads_to_another_merchant_s_or_another_mode_s_checkout(client: Client) -> None:
    for other in (make_expired(), make_expired(mode=Mode.TEST)):
        late = send(other, block_time=other.expires_at + timedelta(minutes=4))
        to_inbox(other, InboxReason.LATE, late)
        merchant = other.merchant if other.mode == Mode.TEST else make_merchant()
        asked = make_page_checkout(
            merchant,
            creation_ref=f"again:{other.public_id}",
            offers={"base": {"tokens": ["USDC"], "address": OTHER_ADDRESS}},
        )
        location = ask(client, asked, late.tx_hash)["Location"]
        assert location.startswith(f"/c/{asked.code}?")


def test_nobody_is_invited_to_pay_again_beside_an_answer_that_says_not_to(client: Client) -> None:
    checkout = make_expired(merchant=make_merchant(buyers_may_retry=True))
    late = send(checkout, block_time=checkout.expires_at + timedelta(minutes=4))
    item = to_inbox(checkout, InboxReason.LATE, late)
    told = ask(client, checkout, late.tx_hash)["Location"]
    # Without the inbox, which has the same to say, the answer alone decides.
    item.delete()
    page = words_in(client.get(told))
    assert "Don't pay again" in page
    assert "Start again" not in page
    assert "No payment arrived" not in page
    # What was not for this checkout keeps nobody from it.
    page = words_in(ask(client, checkout, "no hash"))
    assert "Start again" in page


@pytest.mark.parametrize("reason", [InboxReason.LATE, InboxReason.LATE_OUTAGE])
def test_nobody_begins_again_whose_money_waits_for_the_merchant(reason: InboxReason, client: Client) -> None:
    checkout = make_expired(merchant=make_merchant(buyers_may_retry=True))
    of_link = make_expired(again_url="https://pay.example/l/code")
    assert "Start again" in words_in(client.get(f"/c/{checkout.code}"))
    items = [to_inbox(each, reason, send(each)) for each in (checkout, of_link)]
    for each in (checkout, of_link):
        page = words_in(client.get(f"/c/{each.code}"))
        assert "Start again" not in page
        assert "Already sent it?" in page
    again = client.post(f"/c/{checkout.code}/again")
    assert again["Location"] == f"/c/{checkout.code}"
    for item in items:
        item.status = InboxStatus.REFUNDED
        item.save()
    for each in (checkout, of_link):
        assert "Start again" in words_in(client.get(f"/c/{each.code}"))
