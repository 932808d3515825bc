"""POST /checkouts: what a new checkout looks like, and when the same one comes back."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from accounts.states import Mode
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, make_live_chain, make_merchant, make_wallet
from wallets.models import ChainCursor, DepositAddress
from wallets.selectors import forget

pytestmark = pytest.mark.django_db

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
OPTION_FIELDS = {
    "chain",
    "name",
    "tokens",
    "estimatedConfirmSec",
    "gasTier",
    "priority",
    "badge",
    "exactAmountRequired",
    "address",
    "payAmount",
    "paymentUri",
}
SPEC_FIELDS = {
    "id",
    "status",
    "amount",
    "currency",
    "description",
    "metadata",
    "checkout_url",
    "references",
    "expires_at",
    "created_at",
}
ADDED_FIELDS = {
    "payment",
    "livemode",
    "amount_received",
    "amount_remaining",
    "exception",
    "paid_at",
    "cancelled",
    "replaces",
    "replaced_by",
    "transfers",
    "escrow",
    "escrow_status",
    "escrow_released_by",
}


def moment(text: str) -> datetime:
    assert ISO.fullmatch(text)
    return datetime.fromisoformat(text)


def test_a_new_checkout_has_exactly_the_promised_fields(tester: ApiClient) -> None:
    body = tester.created(description="Coffee", metadata={"a": 1})
    assert set(body) == SPEC_FIELDS | ADDED_FIELDS | {"available_chains", "notices"}
    assert body["status"] == "pending"
    assert (body["amount"], body["currency"]) == ("25.00", "USD")
    assert body["description"] == "Coffee"
    assert body["metadata"] == {"a": 1}
    assert body["payment"] is None
    assert body["exception"] is body["paid_at"] is body["replaces"] is None
    assert (body["amount_received"], body["amount_remaining"]) == ("0.000000", "25.000000")
    assert body["transfers"] == []


@pytest.mark.parametrize(
    ("mode", "prefix", "livemode"), [(Mode.TEST, "chk_test_", False), (Mode.LIVE, "chk_live_", True)]
)
def test_the_keys_mode_is_the_checkouts(seller: ApiClient, mode: Mode, prefix: str, livemode: bool) -> None:
    body = client_of(seller.merchant, mode).created()
    assert re.fullmatch(prefix + r"[0-9A-Za-z]{17,}", body["id"])
    assert body["livemode"] is livemode


def test_the_page_address_is_unguessable_and_is_not_the_id(tester: ApiClient, settings: Any) -> None:
    settings.CHECKOUT_HOST = "https://pay.example.test"
    body = tester.created()
    found = re.fullmatch(r"https://pay\.example\.test/c/([0-9A-Za-z]{17,})", body["checkout_url"])
    assert found
    assert found.group(1) not in body["id"]


def test_fifty_checkouts_share_no_id_code_or_address(tester: ApiClient) -> None:
    bodies = [tester.created() for _ in range(50)]
    for part in (
        {body["id"] for body in bodies},
        {body["checkout_url"] for body in bodies},
        {body["available_chains"][0]["address"] for body in bodies},
    ):
        assert len(part) == 50


def test_times_are_utc_and_thirty_minutes_apart(tester: ApiClient) -> None:
    body = tester.created()
    lifetime = moment(body["expires_at"]) - moment(body["created_at"])
    assert lifetime == timedelta(seconds=1800)


def test_a_test_key_offers_all_six_chains_recommended_first(tester: ApiClient) -> None:
    options = tester.created()["available_chains"]
    assert all(set(option) == OPTION_FIELDS for option in options)
    assert [(o["chain"], o["tokens"], o["estimatedConfirmSec"], o["gasTier"], o["priority"]) for o in options] == [
        ("base", ["USDC"], 24, "low", 0),
        ("polygon", ["USDC", "USDT"], 24, "low", 1),
        ("solana", ["USDC"], 1, "low", 2),
        ("ton", ["USDT"], 5, "low", 3),
        ("tron", ["USDT"], 60, "medium", 4),
        ("ethereum", ["USDC", "USDT"], 72, "high", 5),
    ]
    assert [o["badge"] for o in options] == ["Recommended", *[None] * 4, "High gas"]
    assert [o["exactAmountRequired"] for o in options] == [False, False, *[True] * 4]


def test_round_price_chains_say_where_and_how_much_and_the_others_wait_for_a_choice(tester: ApiClient) -> None:
    for option in tester.created(amount="25")["available_chains"]:
        if option["exactAmountRequired"]:
            assert option["address"] is option["payAmount"] is option["paymentUri"] is None
        else:
            assert re.fullmatch(r"0x[0-9a-fA-F]{40}", option["address"])
            assert option["payAmount"] == "25.000000"
            assert option["address"] in option["paymentUri"]
            assert option["paymentUri"].endswith("&uint256=25000000")


def test_a_live_key_offers_only_chains_with_a_wallet_a_node_and_a_factory() -> None:
    merchant = make_merchant()
    client = client_of(merchant, Mode.LIVE)
    make_live_chain("base")
    make_live_chain("polygon", factory_ok=False)
    for chain in ("base", "polygon"):
        make_wallet(merchant, chain)
    forget()
    body = client.created()
    assert [option["chain"] for option in body["available_chains"]] == ["base"]


@pytest.mark.parametrize("missing", ["wallet", "watcher", "node", "factory"])
def test_a_live_key_that_can_offer_nothing_is_a_conflict(missing: str, settings: Any) -> None:
    merchant = make_merchant()
    if missing != "wallet":
        make_wallet(merchant)
    if missing != "watcher":
        make_live_chain("base", factory_ok=missing != "factory")
    if missing == "node":
        settings.CHAIN_SETTINGS = {}
    forget()
    answer = client_of(merchant, Mode.LIVE).create()
    assert answer.refusal == (409, "receiving_wallet_missing", None)
    assert not Checkout.objects.exists()


def test_a_test_key_writes_no_live_address(tester: ApiClient) -> None:
    tester.created()
    assert set(DepositAddress.objects.values_list("mode", flat=True)) == {Mode.TEST}


@pytest.mark.parametrize("spelling", ["25", "25.0", "25.00"])
def test_the_same_order_reference_amount_and_currency_answer_200_with_the_first_checkout(
    tester: ApiClient, spelling: str
) -> None:
    first = tester.created(order_ref="order-1", metadata={"try": 1})
    again = tester.create(amount=spelling, order_ref="order-1", metadata={"try": 2})
    assert again.status == 200
    assert again.body == first
    assert Checkout.objects.count() == 1
    assert DepositAddress.objects.count() == 1


@pytest.mark.parametrize("other", [{"amount": "25.01"}, {"order_ref": "order-2"}, {"order_ref": "ORDER-1"}])
def test_another_amount_or_reference_makes_a_new_checkout(tester: ApiClient, other: dict[str, str]) -> None:
    first = tester.created(order_ref="order-1")
    second = tester.created(**({"order_ref": "order-1"} | other))
    assert second["id"] != first["id"]


def test_without_a_reference_every_post_makes_a_new_checkout(tester: ApiClient) -> None:
    fields = {"customer_ref": "c", "product_ref": "p"}
    assert tester.created(**fields)["id"] != tester.created(**fields)["id"]


def test_a_reference_found_in_metadata_makes_creation_idempotent_too(tester: ApiClient) -> None:
    first = tester.created(metadata={"orderId": 77})
    again = tester.create(order_ref="77")
    assert (again.status, again.body["id"]) == (200, first["id"])


def test_modes_and_merchants_do_not_share_order_references(seller: ApiClient) -> None:
    clients = [seller, client_of(seller.merchant, Mode.TEST), client_of(mode=Mode.TEST)]
    found = {client.created(order_ref="order-1")["id"] for client in clients}
    assert len(found) == 3


def test_another_key_of_the_same_merchant_gets_the_same_checkout(tester: ApiClient) -> None:
    first = tester.created(order_ref="order-1")
    again = client_of(tester.merchant, Mode.TEST).create(order_ref="order-1")
    assert (again.status, again.body["id"]) == (200, first["id"])


def test_a_repeat_answers_the_existing_checkout_whatever_its_status(tester: ApiClient) -> None:
    first = tester.created(order_ref="order-1")
    Checkout.objects.update(expires_at=NOON - timedelta(days=365 * 20))
    assert expire_due_checkouts(now=NOON) == 1
    again = tester.create(order_ref="order-1")
    assert (again.status, again.body["id"]) == (200, first["id"])
    assert again.body["status"] == "expired"


def test_a_repeat_answers_the_existing_checkout_when_no_chain_can_be_offered_any_more(seller: ApiClient) -> None:
    first = seller.created(order_ref="order-1")
    ChainCursor.objects.update(halted_reason="a person must look")
    forget()
    again = seller.create(order_ref="order-1")
    assert again.status == 200
    assert again.body == first
    assert seller.create(order_ref="order-2").code == "receiving_wallet_missing"


def test_creation_is_one_statement_and_a_repeat_one_more_if_an_amount_may_be_chosen(
    tester: ApiClient, seller: ApiClient, django_assert_num_queries: Any
) -> None:
    for client, repeat in ((tester, 2), (seller, 1)):
        client.created(order_ref="warm")
        with django_assert_num_queries(1):
            client.created(order_ref="order-1")
        with django_assert_num_queries(repeat):
            client.create(order_ref="order-1")


def test_what_an_address_is_derived_from_is_never_shown(tester: ApiClient) -> None:
    answer = tester.create(customer_email="buyer@example.test")
    with connection.cursor() as cursor:
        cursor.execute("SELECT encode(deposit_nonce, 'hex') FROM checkouts_checkout")
        [(nonce,)] = cursor.fetchall()
    assert nonce.encode() not in answer.raw
    assert b"buyer@example.test" not in answer.raw
