"""POST /checkouts: what a new checkout looks like, and when the same one comes back.

Which values each field takes is in tests/checkouts/creation/test_forms.py; each error code is provoked in test_error_codes.py.
"""

import json
import os
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from accounts.states import Mode
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from tests.contract.client import NEW_SETTINGS, ApiClient, client_of
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
    "amount_refunded",
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


def test_the_new_settings_are_on_where_the_environment_asks_for_them(settings: Any) -> None:
    assert (settings.PRICE_CURRENCIES == ["EUR", "JPY"]) == (NEW_SETTINGS in os.environ)
    assert ("BASE_TOKENS" in settings.CHAIN_SETTINGS) == (NEW_SETTINGS in os.environ)


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


def test_the_longest_of_everything_is_kept(tester: ApiClient) -> None:
    texts = {"description": "é" * 256, "customer_ref": "c" * 128, "product_ref": "p" * 128, "order_ref": "é" * 128}
    url = "https://shop.example.test/".ljust(2048, "a")
    metadata = {"é": "x" * (4096 - len('{"é":""}'.encode()))}
    limits = {"amount": "1000000", "expires_in": 86400, "metadata": metadata}
    body = tester.created(**texts, **limits, redirect_url=url, webhook_url=url)
    assert (body["amount"], body["amount_remaining"]) == ("1000000.00", "1000000.000000")
    assert (body["description"], body["metadata"]) == (texts["description"], metadata)
    assert moment(body["expires_at"]) - moment(body["created_at"]) == timedelta(days=1)
    references = body["references"]
    assert {name: references.get(name, body["description"]) for name in texts} == texts
    checkout = Checkout.objects.get(public_id=body["id"])
    assert (checkout.redirect_url, checkout.webhook_url) == (url, url)
    assert tester.get(f"/checkouts/{body['id']}").body["references"] == references
    assert tester.create(metadata=metadata | {"a": ""}).refusal == (400, "metadata_too_large", "metadata")
    assert Checkout.objects.count() == 1


def test_unknown_fields_are_ignored(tester: ApiClient) -> None:
    body = tester.created(id="chk_test_mine", status="completed", livemode=True, nope=[1])
    assert body["id"] != "chk_test_mine"
    assert (body["status"], body["livemode"]) == ("pending", False)
    assert "nope" not in body


@pytest.mark.parametrize("text", [r"\u0000", r"a\ud800"])
def test_what_the_database_cannot_keep_is_refused(tester: ApiClient, text: str) -> None:
    for field in ("description", "customer_ref", "order_ref"):
        body = f'{{"amount":"25","currency":"USD","{field}":"{text}"}}'.encode()
        assert tester.post("/checkouts", body).refusal == (400, "parameter_invalid", field)


@pytest.mark.parametrize("scenario", ["nonsense", ["late"], "late"])
def test_a_live_key_ignores_the_scenario_whatever_it_says(seller: ApiClient, scenario: Any) -> None:
    assert seller.create(test_scenario=scenario).status == 201
    assert Checkout.objects.get().test_scenario == ""


def test_no_address_of_a_buyer_is_a_reason_to_refuse_a_payment(tester: ApiClient) -> None:
    answer = tester.create(customer_email="a b@example.test")
    assert answer.status == 201
    assert [notice["param"] for notice in answer.body["notices"]] == ["customer_email"]
    assert Checkout.objects.get().customer_email == ""


def test_the_settings_say_which_urls_are_taken(tester: ApiClient, settings: Any) -> None:
    settings.PRODUCTION, settings.WEBHOOK_ALLOW_LOOPBACK = False, True
    assert tester.create(webhook_url="http://127.0.0.1:9/hook").status == 201
    assert tester.create(webhook_url="http://10.0.0.1/hook").code == "url_forbidden"
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    assert tester.create(webhook_url="http://127.0.0.1:9/hook").code == "url_forbidden"
    settings.PRODUCTION = True
    for field in ("redirect_url", "webhook_url"):
        refused = tester.create(**{field: "http://shop.example.test/"})
        assert refused.refusal == (400, "url_forbidden", field)
        assert tester.create(**{field: "https://shop.example.test/"}).status == 201


@pytest.mark.parametrize(
    "metadata",
    [
        "{}",
        '{"z":1,"a":2,"m":{"y":1,"b":2}}',
        '{"price":1.10,"tiny":1e-400,"huge":1E+400,"zero":0.000,"below":[-0,-0.0,0]}',
        '{"n":123456789012345678901234567890,"m":-9223372036854775809}',
        '{"é":"日本 🧋","escape":"\\"\\\\\\n","nul":"\\u0000"}',
        '{"deep":' + "[" * 200 + "]" * 200 + "}",
        '{"a":[true,false,null,"",{},[]]}',
        '{"":"an empty key","__proto__":{"x":1}}',
    ],
)
def test_metadata_comes_back_as_it_was_sent(tester: ApiClient, metadata: str) -> None:
    sent = f'{{"amount":"25","currency":"USD","metadata":{metadata}}}'.encode()
    created = tester.post("/checkouts", sent)
    assert created.status == 201
    wanted = f'"metadata":{metadata},'.encode()
    assert wanted in created.raw
    assert wanted in tester.get(f"/checkouts/{created.body['id']}").raw
    assert wanted in tester.get("/checkouts").raw


def test_metadata_is_measured_without_spaces(tester: ApiClient) -> None:
    metadata = {"a": "x" * 4088}
    spaced = json.dumps({"amount": "25", "currency": "USD", "metadata": metadata}, indent=40)
    assert tester.post("/checkouts", spaced.encode()).body["metadata"] == metadata


def test_metadata_nested_past_what_can_be_written_is_refused(tester: ApiClient) -> None:
    deep = b'{"amount":"25","currency":"USD","metadata":{"a":%s%s}}'
    assert tester.post("/checkouts", deep % (b"[" * 1500, b"]" * 1500)).status == 400


def test_references_are_found_in_metadata_and_those_beside_it_win(tester: ApiClient) -> None:
    sent = (
        b'{"amount":"25","currency":"USD","order_ref":"t","metadata":{"user_id":1.10,"packageCode":"p","orderId":"m"}}'
    )
    body = tester.post("/checkouts", sent).body
    assert body["references"] == {
        "customer_ref": "1.10",
        "product_ref": "p",
        "order_ref": "t",
        "ambiguity_resolution_armed": True,
    }
    assert tester.get(f"/checkouts/{body['id']}").body["references"] == body["references"]


@pytest.mark.parametrize(
    "given", [{"customer_ref": "c"}, {"product_ref": "p"}, {"customer_ref": "c", "order_ref": "o"}]
)
def test_only_both_references_arm_the_resolution_of_ambiguity(tester: ApiClient, given: dict[str, str]) -> None:
    nothing = dict.fromkeys(("customer_ref", "product_ref", "order_ref"))
    assert tester.created(**given)["references"] == nothing | given | {"ambiguity_resolution_armed": False}
