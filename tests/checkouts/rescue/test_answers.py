"""What a buyer reads about the transaction they asked for, and how that follows the payment."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from checkouts.models import BuyerReport
from checkouts.states import CheckoutStatus, InboxReason
from tests.checkouts.factories import (
    make_closed,
    make_expired,
    make_page_checkout,
    make_seen,
    make_underpaid,
    move,
    pay,
)
from tests.checkouts.page.test_views import words_in
from tests.checkouts.questions import UNKNOWN, answer, answer_in, ask, send, to_inbox
from wallets.models import Transfer
from wallets.states import TransferState

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


def test_what_is_missing_is_told_to_the_cent_and_where_to_send_it(client: Client) -> None:
    checkout = make_underpaid()
    [transfer] = Transfer.objects.all()
    words = answer(client, checkout, transfer.tx_hash)
    assert "29.00 USDC is still missing" in words
    assert "Your 20.00 USDC on Base arrived. It is 29.00 USDC short of 49.00." in words
    assert "<b>Send 29.00 USDC more</b> to the same address." in words


def test_nobody_is_asked_for_the_rest_when_the_time_is_over(client: Client) -> None:
    checkout = make_closed()
    transfer = pay(checkout, 20_000_000, confirmations=12)
    move(checkout, CheckoutStatus.EXPIRED)
    words = answer(client, checkout, transfer.tx_hash)
    assert "<b>Don't send the rest.</b> Ask Halden Roasters for a refund" in words


def test_the_answer_follows_the_payment(client: Client) -> None:
    checkout = make_seen()
    [transfer] = Transfer.objects.all()
    asked = ask(client, checkout, transfer.tx_hash)
    shown = answer_in(words_in(client.get(asked["Location"])))
    assert "the network is confirming it. That usually takes 24 s." in shown
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=timezone.now())
    move(checkout, CheckoutStatus.COMPLETED)
    path = asked["Location"].replace("?", "/status?")
    panel = client.get(path).json()["panel"]
    assert "We received your payment" in panel


def test_an_answer_about_money_that_the_network_took_back_is_withdrawn(client: Client) -> None:
    checkout = make_seen()
    [transfer] = Transfer.objects.all()
    asked = ask(client, checkout, transfer.tx_hash)
    Transfer.objects.update(state=TransferState.ORPHANED, orphaned_at=timezone.now())
    assert 'id="answer"' not in words_in(client.get(asked["Location"]))


def test_late_money_says_how_late_and_who_decides(client: Client) -> None:
    checkout = make_expired()
    late = send(checkout, block_time=checkout.expires_at + timedelta(minutes=4))
    to_inbox(checkout, InboxReason.LATE, late)
    words = answer(client, checkout, late.tx_hash)
    assert "Your 49.00 USDC on Base arrived 4 minutes after this checkout expired" in words
    assert "Halden Roasters received it and can accept it for your order" in words
    assert checkout.public_id in words
    report = BuyerReport.objects.get()
    assert (report.verdict, report.details["late_seconds"]) == ("late", 240)


def test_another_checkout_s_report_is_not_shown(client: Client) -> None:
    mine, other = make_page_checkout(), make_page_checkout()
    ask(client, other, UNKNOWN)
    text = words_in(client.get(f"/c/{mine.code}?found={UNKNOWN}"))
    assert 'id="answer"' not in text


@pytest.mark.parametrize("found", ["", "\x00", "nothing", "<b>", "a" * 5_000])
def test_unknown_answers_are_ignored(found: str, client: Client) -> None:
    checkout = make_page_checkout()
    for path in (f"/c/{checkout.code}", f"/c/{checkout.code}/status"):
        response = client.get(path, {"found": found})
        assert response.status_code == 200
        assert "answer" not in response.content.decode()
