"""What a buyer reads about the transaction they asked for, and how that follows the payment."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import BuyerReport
from checkouts.rescue import service
from checkouts.rescue.rules import Case
from checkouts.selectors import open_reports
from checkouts.states import CheckoutStatus, InboxReason, RescueVerdict
from tests.checkouts.arrivals import reserve
from tests.checkouts.factories import (
    make_closed,
    make_completed,
    make_exact_checkout,
    make_expired,
    make_page_checkout,
    make_seen,
    make_test_checkout,
    make_underpaid,
    move,
    pay,
)
from tests.checkouts.page.test_views import words_in
from tests.checkouts.questions import UNKNOWN, answer, answer_in, any_hash, ask, send, to_inbox
from tests.contract.provoking import count_requests
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


@pytest.mark.parametrize(
    ("amount", "less"),
    [
        ("47.00 USDT", "2.0037 USDT"),
        ("49.00 USDT", "0.0037 USDT"),
        ("49.0037 USDT", ""),
        ("50.00 USDT", ""),
        ("24.00 USDT", ""),
        ("48.999999999999999999 DAI", "0.003700000000000001 DAI"),
    ],
)
def test_money_that_names_nothing_says_what_it_lacks_of_what_the_page_asked_for(
    amount: str, less: str, client: Client
) -> None:
    """As when an exchange kept its fee: that of a price of 49.0037 came as 47."""
    checkout = make_exact_checkout()
    reserve(checkout, 3_700)
    report = BuyerReport.objects.create(
        checkout=checkout,
        merchant=checkout.merchant,
        mode=checkout.mode,
        tx_hash=any_hash(),
        chain="tron",
        verdict=RescueVerdict.WAITING,
        details={"case": Case.UNNAMED, "silent": [], "amount": amount},
        reported_at=timezone.now(),
        looked_at=timezone.now(),
    )
    words = answer_in(words_in(client.get(f"/c/{checkout.code}?found={report.tx_hash}")))
    assert "nothing in it identifies this payment" in words
    assert (f"It is {less} less than this page asked for." in words) == bool(less)
    assert ("less than this page" in words) == bool(less)


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


# How often a buyer may ask what became of a transaction, and what the merchant finds of it.


@pytest.fixture
def still_hour(time_machine: Any) -> None:
    """Hold the clock, so that no test straddles two windows."""
    now = timezone.now().replace(minute=30, second=30)
    time_machine.move_to(now, tick=False)


@pytest.mark.usefixtures("still_hour")
def test_a_client_asks_five_times_a_minute_for_one_page_and_ten_times_in_all(client: Client) -> None:
    pages = [make_test_checkout() for _ in range(3)]
    answers = [[ask(client, page, any_hash()).status_code for _ in range(6)] for page in pages]
    assert answers[0] == [303] * 5 + [429]
    assert answers[1] == [303] * 5 + [429]
    assert answers[2] == [429] * 6
    refused = ask(client, pages[0], any_hash())
    assert refused["Retry-After"] == "30"
    assert 'Search again in <b class="number">30</b>' in words_in(refused)
    assert client.get(f"/c/{pages[0].code}").status_code == 200


@pytest.mark.usefixtures("still_hour")
def test_a_page_is_asked_thirty_times_an_hour_whoever_asks(client: Client) -> None:
    checkout, other = make_test_checkout(), make_test_checkout()
    path = f"/c/{checkout.code}/find"
    # A text that is no hash is counted, too.
    assert client.post(path, {"tx": "?"}, REMOTE_ADDR="192.0.2.1").status_code == 400
    count_requests(28)
    codes = [client.post(path, {"tx": "?"}, REMOTE_ADDR=f"192.0.2.{n}").status_code for n in (2, 3)]
    assert codes == [400, 429]
    refused = client.post(path, {"tx": "?"}, REMOTE_ADDR="192.0.2.99")
    assert refused["Retry-After"] == str(30 * 60 - 30)
    assert ask(client, other, "?").status_code == 400


def test_a_checkout_keeps_twenty_reports(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_REPORTS", 2)
    checkout = make_test_checkout()
    first = any_hash()
    for text in (first, any_hash()):
        assert ask(client, checkout, text).status_code == 303
    assert ask(client, checkout, any_hash()).status_code == 429
    assert ask(client, checkout, first).status_code == 303
    assert BuyerReport.objects.count() == 2


def test_nodes_are_asked_for_two_buyers_at_once_by_a_process_and_the_third_waits(client: Client) -> None:
    with service._place(), service._place():
        refused = ask(client, make_page_checkout(), UNKNOWN)
        checkout = make_seen()
        known = ask(client, checkout, Transfer.objects.get().tx_hash)
    assert (refused.status_code, refused["Retry-After"]) == (429, "5")
    assert known.status_code == 303
    assert ask(client, make_page_checkout(), UNKNOWN).status_code == 303


def test_the_merchant_finds_open_reports_of_its_own_and_none_that_came_out_right(client: Client) -> None:
    checkout = make_page_checkout()
    ask(client, checkout, UNKNOWN)
    credited = make_completed(merchant=checkout.merchant)
    ask(client, credited, Transfer.objects.get().tx_hash)
    ask(client, make_page_checkout(), UNKNOWN)
    ask(client, make_test_checkout(merchant=checkout.merchant), UNKNOWN)
    [report] = open_reports(checkout.merchant_id, Mode.LIVE)
    assert report.checkout == checkout
    BuyerReport.objects.update(closed_at=timezone.now())
    assert list(open_reports(checkout.merchant_id, Mode.LIVE)) == []


def test_a_report_is_right_too_when_a_part_of_its_transaction_was_credited(client: Client) -> None:
    checkout = make_completed()
    ask(client, checkout, Transfer.objects.get().tx_hash)
    BuyerReport.objects.update(tx_hash=any_hash())
    assert list(open_reports(checkout.merchant_id, Mode.LIVE)) == []
    BuyerReport.objects.update(details={})
    assert open_reports(checkout.merchant_id, Mode.LIVE).count() == 1


def test_a_report_of_what_was_on_its_way_is_done_with_once_its_checkout_is_paid(client: Client) -> None:
    checkout = make_seen()
    ask(client, checkout, Transfer.objects.get().tx_hash)
    # On TON a buyer has another hash than the watcher, and what is under way has no transfer yet.
    BuyerReport.objects.update(tx_hash=any_hash(), details={"case": "in_line"}, verdict=RescueVerdict.NOT_FINAL)
    assert open_reports(checkout.merchant_id, Mode.LIVE).count() == 1
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=timezone.now())
    move(checkout, CheckoutStatus.COMPLETED)
    assert list(open_reports(checkout.merchant_id, Mode.LIVE)) == []
