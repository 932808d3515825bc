"""`GET /reports/transactions`: whose, which, in what order, and what is refused."""

import re
from typing import Any

import pytest

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, WALLET, make_checkout, make_transfer, make_wallet
from tests.reports.takings import days_later, earn, lose, receive, see
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

PATH = "/reports/transactions"


def named(*transfers: Transfer) -> list[str]:
    """The ids that reports have for transfers."""
    return [transfer.public_id for transfer in transfers]


def listed(shop: ApiClient, **query: Any) -> list[str]:
    """The ids of an answer, in its order."""
    if "since" in query:
        query["from"] = query.pop("since")
    answer = shop.get(PATH, query)
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer.body["data"]]


def test_a_line_tells_the_transfer_and_the_checkout_it_paid(shop: ApiClient) -> None:
    transfer = earn(shop.merchant, 24_999_999, order_ref="HR-1")
    [row] = shop.get(PATH).body["data"]
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
    }


def test_a_transfers_id_tells_nothing_of_how_many_there_are(shop: ApiClient) -> None:
    receive(shop.merchant)
    [row_id] = listed(shop)
    assert re.fullmatch(r"trf_[0-9a-f]{32}", row_id)


def test_what_paid_nothing_names_no_checkout(shop: ApiClient) -> None:
    receive(shop.merchant)
    [row] = shop.get(PATH).body["data"]
    assert (row["checkout_id"], row["order_ref"]) == (None, None)


def test_all_states_are_listed_newest_block_first(shop: ApiClient) -> None:
    middle = lose(shop.merchant)
    newest = see(shop.merchant, **days_later(2))
    oldest = earn(shop.merchant, **days_later(-2))
    assert listed(shop) == named(newest, middle, oldest)


def test_nobody_sees_what_others_or_the_other_mode_received(shop: ApiClient) -> None:
    mine = earn(shop.merchant)
    tested = receive(shop.merchant, mode=Mode.TEST)
    earn(client_of(mode=Mode.LIVE).merchant)
    assert listed(shop) == named(mine)
    assert listed(client_of(shop.merchant, Mode.TEST)) == named(tested)
    assert listed(client_of(mode=Mode.LIVE)) == []


def test_from_is_included_and_to_is_not(shop: ApiClient) -> None:
    midnight = NOON.replace(hour=0)
    wanted = receive(shop.merchant, block_time=midnight)
    receive(shop.merchant, block_time=midnight.replace(day=21))
    receive(shop.merchant, block_time=midnight.replace(day=19, hour=23))
    assert listed(shop, since="2026-11-20", to="2026-11-21") == named(wanted)
    moment = "2026-11-20T01:00:00+01:00"
    assert listed(shop, since=moment, to="2026-11-20T00:00:00.000001Z") == named(wanted)


def test_each_filter_leaves_what_it_names(shop: ApiClient) -> None:
    on_base = earn(shop.merchant)
    tether = receive(shop.merchant, chain="polygon", token="USDT", **days_later(1))
    assert listed(shop, chain="base") == named(on_base)
    assert listed(shop, token="USDT") == named(tether)
    assert listed(shop, direction="in") == named(tether, on_base)
    assert listed(shop, direction="out") == []
    assert listed(shop, tag="shop-1") == []
    assert listed(shop, wallet=on_base.recipient.lower()) == named(on_base)
    assert listed(shop, wallet="0x" + "11" * 20) == []


def test_a_wallet_is_where_deposit_addresses_pay_to(shop: ApiClient) -> None:
    assert shop.merchant is not None
    deposited = receive(shop.merchant)
    direct = receive(shop.merchant, chain="ethereum", **days_later(1))
    wallet = make_wallet(shop.merchant, "ethereum")
    Transfer.objects.filter(pk=direct.pk).update(
        deposit=None, wallet=wallet, recipient=wallet.address
    )
    assert listed(shop, wallet=WALLET) == named(direct, deposited)
    assert listed(shop, wallet=WALLET, chain="ethereum") == named(direct)


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
def test_what_cannot_be_read_is_named(
    shop: ApiClient, query: dict[str, str], param: str, code: str
) -> None:
    assert shop.get(PATH, query).refusal == (400, code, param)


def test_another_merchants_line_is_no_place_to_start(shop: ApiClient) -> None:
    [theirs] = named(earn(client_of(mode=Mode.LIVE).merchant))
    answer = shop.get(PATH, {"starting_after": theirs})
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
    body = shop.get(PATH, {"limit": 2}).body
    assert (body["total"], body["limit"], body["offset"]) == (3, 2, 0)
    assert "total" not in shop.get(PATH, {"include_total": "false"}).body


@pytest.mark.usefixtures("evening")
def test_both_reports_share_thirty_requests_a_minute(shop: ApiClient) -> None:
    answers = [shop.get(path) for path in (PATH, "/reports/summary") for _ in range(15)]
    assert {answer.status for answer in answers} == {200}
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"30"}
    assert shop.get(PATH).status == 429
