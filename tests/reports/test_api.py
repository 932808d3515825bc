"""`GET /reports/transactions`: whose, which, in what order, and what is refused."""

import re
from typing import Any

import pytest

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import make_checkout, make_transfer
from tests.reports.answers import LINES, SUMMARY, listed, named, summary
from tests.reports.takings import days_later, earn, lose, receive, see

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("evening")]


def test_all_states_are_listed_newest_block_first(shop: ApiClient) -> None:
    middle = lose(shop.merchant)
    newest = see(shop.merchant, **days_later(2))
    oldest = earn(shop.merchant, **days_later(-2))
    assert listed(shop) == named(newest, middle, oldest)


def test_another_merchants_line_is_no_place_to_start(shop: ApiClient) -> None:
    [theirs] = named(earn(client_of(mode=Mode.LIVE).merchant))
    answer = shop.get(LINES, {"starting_after": theirs})
    assert answer.refusal == (400, "parameter_invalid", "starting_after")


def test_pages_by_key_pass_over_nothing_and_repeat_nothing(shop: ApiClient) -> None:
    assert shop.merchant is not None
    checkout = make_checkout(shop.merchant)
    # Five in one block: only their keys tell them apart.
    tied = [make_transfer(checkout) for _ in range(5)]
    older = receive(shop.merchant, **days_later(-1))
    wanted = named(*reversed(tied), older)
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while page := listed(shop, **query):
        found += page
        query["starting_after"] = page[-1]
    assert found == wanted
    assert listed(shop, limit=2, offset=4) == wanted[4:]


def test_the_envelope_is_that_of_every_list(shop: ApiClient) -> None:
    for _ in range(3):
        earn(shop.merchant)
    body = shop.get(LINES, {"limit": 2}).body
    assert (body["total"], body["limit"], body["offset"]) == (3, 2, 0)
    assert "total" not in shop.get(LINES, {"include_total": "false"}).body


@pytest.mark.usefixtures("evening")
def test_both_reports_share_thirty_requests_a_minute(shop: ApiClient) -> None:
    answers = [shop.get(path) for path in (LINES, "/reports/summary") for _ in range(15)]
    assert {answer.status for answer in answers} == {200}
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"30"}
    assert shop.get(LINES).status == 429


# What a report can be narrowed by, and what is refused by name.


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"from": "yesterday"}, "from", "parameter_invalid"),
        ({"to": "2026-13-01"}, "to", "parameter_invalid"),
        ({"from": "2026-11-21", "to": "2026-11-20"}, "to", "parameter_invalid"),
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
        ({"token": "DOGE"}, "token", "token_unsupported"),
        ({"direction": "up"}, "direction", "parameter_invalid"),
        ({"wallet": "0x12"}, "wallet", "address_invalid"),
        ({"tag": "\x00"}, "tag", "parameter_invalid"),
        ({"format": "xml"}, "format", "parameter_invalid"),
        ({"limit": "0", "format": "csv"}, "limit", "parameter_invalid"),
        ({"starting_after": "trf_1"}, "starting_after", "parameter_invalid"),
        ({"starting_after": "trf_x"}, "starting_after", "parameter_invalid"),
        ({"starting_after": "trf_" + "9" * 40}, "starting_after", "parameter_invalid"),
    ],
)
def test_what_cannot_be_read_is_named(shop: ApiClient, query: dict[str, str], param: str, code: str) -> None:
    assert shop.get(LINES, query).refusal == (400, code, param)


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"from": "x"}, "from", "parameter_invalid"),
        ({"from": "2026-11-21", "to": "2026-11-20"}, "to", "parameter_invalid"),
        ({"from": "2027-01-01"}, "from", "parameter_invalid"),
        ({"from": "2020-01-01"}, "from", "parameter_invalid"),
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
    ],
)
def test_what_cannot_be_added_up_is_named(shop: ApiClient, query: dict[str, str], param: str, code: str) -> None:
    assert shop.get(SUMMARY, query).refusal == (400, code, param)


@pytest.mark.parametrize("to", ["0001-01-01", "0001-01-05", "9999-12-31T23:59:59Z"])
def test_the_ends_of_time_are_times(shop: ApiClient, to: str) -> None:
    assert summary(shop, to=to)["inflow"] == "0.000000"


# A line of a report as the API shows it.


def test_a_line_tells_the_transfer_and_the_checkout_it_paid(shop: ApiClient) -> None:
    transfer = earn(shop.merchant, 24_999_999, order_ref="HR-1")
    [row] = shop.get(LINES).body["data"]
    assert row == {
        "id": transfer.public_id,
        "direction": "in",
        "chain": "base",
        "token": "USDC",
        "amount": "24.999999",
        "tx_hash": transfer.tx_hash,
        "position": 0,
        "sender_address": transfer.sender,
        "recipient_address": transfer.recipient,
        "status": "confirmed",
        "block_time": "2026-11-20T12:01:00.000000Z",
        "detected_at": "2026-11-20T12:01:00.000000Z",
        "confirmed_at": "2026-11-20T12:00:00.000000Z",
        "checkout_id": transfer.payment.checkout.public_id,
        "order_ref": "HR-1",
        "wallet_id": None,
        "kind": "checkout",
        "x402_payment_id": None,
        "resource": None,
        "fee": None,
        "usd_value": "24.999999",
        "explorer_url": f"https://basescan.org/tx/{transfer.tx_hash}",
        "payout_id": None,
        "amount_refunded": "0.000000",
        "price": None,
        "price_currency": None,
    }


def test_a_transfers_id_tells_nothing_of_how_many_there_are(shop: ApiClient) -> None:
    receive(shop.merchant)
    [row_id] = listed(shop)
    assert re.fullmatch(r"trf_[0-9a-f]{32}", row_id)


def test_what_paid_nothing_names_no_checkout(shop: ApiClient) -> None:
    receive(shop.merchant)
    [row] = shop.get(LINES).body["data"]
    assert (row["checkout_id"], row["order_ref"]) == (None, None)
