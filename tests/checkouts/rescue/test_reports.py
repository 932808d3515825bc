"""How often a buyer may ask what became of a transaction, and what the merchant finds of it."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import BuyerReport
from checkouts.rescue import service
from checkouts.selectors import open_reports
from tests.checkouts.factories import make_completed, make_page_checkout, make_seen, make_test_checkout
from tests.checkouts.page.test_views import words_in
from tests.checkouts.questions import UNKNOWN, any_hash, ask
from wallets.models import Transfer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


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
    assert "One moment, please" in words_in(refused)
    assert client.get(f"/c/{pages[0].code}").status_code == 200


@pytest.mark.usefixtures("still_hour")
def test_a_page_is_asked_thirty_times_an_hour_whoever_asks(client: Client) -> None:
    checkout, other = make_test_checkout(), make_test_checkout()
    path = f"/c/{checkout.code}/find"
    codes = [client.post(path, {"tx": "?"}, REMOTE_ADDR=f"192.0.2.{n}").status_code for n in range(31)]
    # A text that is no hash is counted, too.
    assert codes == [400] * 30 + [429]
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
