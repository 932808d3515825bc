"""Whatever arrives, the answer is one the contract knows: never a 500. `ApiClient` checks headers and envelope."""

import json
import secrets
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from gateway.core.currencies import DECIMALS
from tests.checkouts.test_currencies import ONLY_USD
from tests.contract.client import Answer, ApiClient
from tests.contract.refunding import BUYER, PAYOUT
from tests.factories import WALLET
from tests.routes import operations, path_of

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.django_db]

WRITES = [(method, route) for method, route in operations() if method in {"POST", "PATCH"}]
READS = [route for method, route in operations() if method == "GET"]
FIELDS = [
    "amount",
    "currency",
    "description",
    "metadata",
    "customer_email",
    "redirect_url",
    "webhook_url",
    "expires_in",
    "customer_ref",
    "product_ref",
    "order_ref",
    "test_scenario",
]
LINK_FIELDS = [
    "title",
    "type",
    "amount",
    "currency",
    "description",
    "metadata",
    "min_amount",
    "max_amount",
    "suggested_amounts",
    "interval",
    "redirect_url",
    "webhook_url",
    "customer_ref",
    "product_ref",
    "template",
    "status",
]
WALLET_FIELDS = ["chain", "address", "label", "tags"]
TERMS = ["address", "choices", "email", "expires_in", "reason", "reference", "metadata"]
# Fields of bodies whose errors may name another field: the one that must be sent with it.
FIELDS_OF = {
    "refunds": ["source", "amount", "currency", "chain", "token", "requires_payer_proof", *TERMS],
    "payouts": ["amount", "currency", "chain", "token", *TERMS],
    "payouts/<str:payout_id>/address": ["address", "chain", "token"],
    "terminals": ["name", "currency", "tips", "chain", "chains", "shows_day", "has_sign"],
    "webhook_endpoints": ["url", "name", "events", "enabled", "secret"],
    "checkouts/<str:checkout_id>/authorization": ["chain", "account", "ticket", "signature"],
    "x402/offers": ["resource", "accepts"],
    "x402/verify": ["payment", "requirements", "x402Version", "paymentPayload", "paymentRequirements"],
    "x402/settle": ["chain", "token", "x402Version", "paymentPayload", "paymentRequirements", "receiptFor"],
}
WAITLIST_FIELDS = ["email", "company", "country", "monthly_volume"]
PARAMETERS = [
    "status",
    "limit",
    "offset",
    "created_after",
    "created_before",
    "starting_after",
    "include_total",
    "after",
    "type",
    "checkout_id",
    "format",
    "from",
    "to",
    "tag",
    "chain",
    "token",
    "direction",
    "wallet",
    "customer_ref",
    "product_ref",
    "order_ref",
    "kind",
    "reason",
    "reference",
    "resource",
    "tx_hash",
    "transfer_id",
    "inbox_item_id",
    "x402_payment_id",
    "endpoint_id",
    "event_id",
    "event_type",
]
# A part of `source` is named alone.
SOURCES = ["checkout", "x402_payment", "tx_hash"]
BODYLESS = ("/advance", "/cancel", "/pair", "/revoke", "/rotate_secret", "/test")
NEW_WALLET = {"chain": "base", "address": WALLET}
KNOWN = {200, 201, 202, 400, 401, 404, 405, 409, 413, 415}


def fuzzed(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.integers(10**18))
texts = st.text(st.characters(), max_size=300)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)

Send = Callable[..., Answer]


@pytest.fixture
def send(tester: ApiClient, settings: Any) -> Send:
    """Send a request that no limit stops, and check that the answer is a known one."""
    prefix = settings.KEY_PREFIX
    ids = {
        "checkout_id": tester.created()["id"],
        "link_id": tester.post("/links", {"title": "Tea", "amount": "5"}).body["id"],
        "template_id": tester.post("/link_templates", {"title": "Tea"}).body["id"],
        "wallet_id": tester.post("/wallets", NEW_WALLET).body["id"],
        "terminal_id": tester.post("/terminals", {"name": "Bar"}).body["id"],
        "endpoint_id": tester.post("/webhook_endpoints", {"url": "https://erp.example/1"}).body["id"],
        "payout_id": tester.post("/payouts", PAYOUT).body["id"],
    }

    def fill(method: str, route: str, body: bytes = b"", **extra: Any) -> Answer:
        settings.KEY_PREFIX = f"{prefix}:{secrets.token_hex(8)}"
        answer = tester.send(method, path_of(route, ids), body, **extra)
        assert answer.status in KNOWN, answer.body
        return answer

    return fill


@pytest.fixture
def bodies(tester: ApiClient) -> Mapping[str, Any]:
    """Bodies that are taken as they stand."""
    paid = tester.created()["id"]
    assert tester.send("POST", f"/test/checkouts/{paid}/advance").body["status"] == "completed"
    return {
        "refunds": {"source": {"checkout": paid}, "amount": "0.01"},
        "payouts": {"amount": "1.00", "chain": "base", "token": "USDC", "address": BUYER},
        "payouts/<str:payout_id>/address": {"address": BUYER},
        "terminals": {"name": "Bar"},
        "webhook_endpoints": {"url": "https://erp.example/florin"},
        "checkouts/<str:checkout_id>/authorization": {"chain": "base", "account": BUYER},
    }


@pytest.mark.parametrize(("method", "route"), WRITES)
@fuzzed(60)
@given(body=st.binary(min_size=1, max_size=400))
@example(body=b"{" * 200)
@example(body=b'{"amount":' + b"9" * 5000 + b"}")
@example(body=b'{"\\ud800":1}')
def test_random_bytes_are_refused_politely(send: Send, method: str, route: str, body: bytes) -> None:
    # An object none of whose fields is known changes nothing, settles whatever waits, or advances by one step: that is no
    # mistake. Others take no body.
    may_succeed = method == "PATCH" or route == "x402/settle" or route.endswith(BODYLESS)
    assert send(method, route, body).status >= 400 or may_succeed


@pytest.mark.parametrize(("method", "route"), WRITES)
@fuzzed(40)
@given(
    body=st.dictionaries(
        st.sampled_from(
            sorted({*FIELDS, *LINK_FIELDS, *WAITLIST_FIELDS, *WALLET_FIELDS, *chain(*FIELDS_OF.values()), "steps"})
        )
        | texts,
        json_values,
    )
)
def test_random_objects_are_answered(send: Send, method: str, route: str, body: Any) -> None:
    send(method, route, json.dumps(body).encode())


@pytest.mark.parametrize("field", FIELDS)
@fuzzed(40)
@given(value=json_values)
@example(value="\x00")
@example(value="\ud800")
@example(value=-0.0)
@example(value=1e308)
@example(value=10**4000)
def test_any_value_in_any_field_is_taken_or_named(send: Send, field: str, value: Any) -> None:
    body = {"amount": "25", "currency": "USD"} | {field: value}
    answer = send("POST", "checkouts", json.dumps(body).encode())
    if answer.status >= 400:
        assert answer.error["param"] == field
    elif field == "metadata" and value is not None:
        assert answer.body["metadata"] == json.loads(json.dumps(value))


@fuzzed(150)
@given(value=st.sampled_from(sorted({*DECIMALS} - {"USD"})) | st.from_regex(r"\A[A-Za-z]{0,4}\Z") | texts)
@example(value="usd")
@example(value="USD ")
@example(value="\uff35\uff33\uff24")
def test_without_the_setting_every_other_currency_gets_the_specifications_error(
    send: Send, settings: Any, value: str
) -> None:
    assume(value != "USD")
    settings.PRICE_CURRENCIES = []
    for amount in ("25", "1200"):
        body = json.dumps({"amount": amount, "currency": value}).encode()
        answer = send("POST", "checkouts", body)
        assert (answer.status, answer.body) == (400, ONLY_USD)


@pytest.mark.parametrize("kind", ["donation", "subscription"])
@pytest.mark.parametrize("field", LINK_FIELDS)
@fuzzed(15)
@given(value=json_values)
@example(value="\x00")
@example(value="\ud800")
def test_any_value_in_any_field_of_a_link_is_taken_or_named(send: Send, field: str, kind: str, value: Any) -> None:
    valid: dict[str, Any] = {"title": "Tea", "amount": "25", "type": kind}
    if kind == "subscription":
        valid["interval"] = "week"
    answer = send("POST", "links", json.dumps(valid | {field: value}).encode())
    if answer.status >= 400 and field != "type":
        assert answer.error["param"] == field


@pytest.mark.parametrize("field", WAITLIST_FIELDS)
@fuzzed(40)
@given(value=json_values)
@example(value="\x00")
@example(value="\ud800")
@example(value="\u017f@b.example")
def test_any_value_in_any_field_of_the_waitlist_is_taken_or_named(send: Send, field: str, value: Any) -> None:
    body = {"email": "ines@halden.example"} | {field: value}
    answer = send("POST", "waitlist/fiat", json.dumps(body).encode())
    if answer.status >= 400:
        assert answer.error["param"] == field


@pytest.mark.parametrize("field", WALLET_FIELDS)
@fuzzed(40)
@given(value=json_values)
@example(value="\x00")
@example(value="\ud800")
@example(value=["\ud800", "\x00"])
def test_any_value_in_any_field_of_a_wallet_is_taken_or_named(send: Send, field: str, value: Any) -> None:
    answer = send("POST", "wallets", json.dumps(NEW_WALLET | {field: value}).encode())
    if answer.status >= 400:
        assert answer.error["param"] == field


@pytest.mark.parametrize("field", ["chain", "token"])
@fuzzed(40)
@given(value=json_values)
def test_any_choice_is_answered(send: Send, field: str, value: Any) -> None:
    body = {"chain": "base", "token": "USDC"} | {field: value}
    route = "checkouts/<str:checkout_id>/options"
    answer = send("POST", route, json.dumps(body).encode())
    assert answer.status == 200 or answer.error["param"] == field


@pytest.mark.parametrize(("route", "field"), [(route, field) for route in FIELDS_OF for field in FIELDS_OF[route]])
@fuzzed(15)
@given(value=json_values)
@example(value="\x00")
@example(value="\ud800")
@example(value=[{"chain": "base", "token": ["USDC"]}])
@example(value={"transfer": {"chain": "base", "tx_hash": "0x" + "5" * 200, "position": 10**30}})
def test_any_value_in_any_other_field_is_taken_or_a_field_is_named(
    send: Send, bodies: Mapping[str, Any], settings: Any, route: str, field: str, value: Any
) -> None:
    # Else no checkout takes a signed payment, whatever the body says.
    settings.GAS_FREE, settings.GAS_KEYS = ["base"], ["0x" + "5a" * 32]
    answer = send("POST", route, json.dumps(bodies.get(route, {}) | {field: value}).encode())
    if answer.status == 400:
        named = answer.error["param"].replace("[", ".").partition(".")[0]
        assert named in {*FIELDS_OF[route], *(SOURCES if route == "refunds" else ())}


@pytest.mark.parametrize("key", ["user_id", "package_code", "order_id"])
@fuzzed(40)
@given(value=json_values)
def test_no_reference_in_metadata_is_ever_a_reason_to_refuse(send: Send, key: str, value: Any) -> None:
    body = {"amount": "25", "currency": "USD", "metadata": {key: value}}
    encoded = json.dumps(body).encode()
    answer = send("POST", "checkouts", encoded)
    if answer.status == 400:
        # Only what could not be stored at all: lone surrogates, or more than 4,096 bytes.
        assert answer.error["param"] == "metadata"


@pytest.mark.parametrize("route", READS)
@fuzzed(40)
@given(query=st.dictionaries(st.sampled_from(PARAMETERS), texts.map(str) | st.binary(max_size=60), max_size=4))
@example(query={"limit": b"\x00"})
@example(query={"created_after": "0001-01-01T00:00:00+23:59"})
@example(query={"created_before": "9999-12-31T23:59:59-23:59"})
def test_random_parameters_are_answered(send: Send, route: str, query: Any) -> None:
    pairs = (
        f"{name}={quote_from_bytes(v.encode(errors='replace') if isinstance(v, str) else v)}"
        for name, v in query.items()
    )
    send("GET", route, QUERY_STRING="&".join(pairs))


@pytest.mark.parametrize("route", READS)
@fuzzed(40)
@given(query=st.text(st.characters(max_codepoint=255), max_size=200))
@example(query="&" * 200)
@example(query="=%zz&%&limit=%")
def test_random_query_strings_are_answered(send: Send, route: str, query: str) -> None:
    send("GET", route, QUERY_STRING=query)


@fuzzed(40)
@given(identifier=st.binary(min_size=1, max_size=60))
@example(identifier=b"\x00")
@example(identifier=b"..")
@example(identifier=b"/")
def test_random_paths_are_answered(send: Send, identifier: bytes) -> None:
    for method, rest in (("GET", ""), ("POST", "/options"), ("GET", "/options")):
        path = f"checkouts/{quote_from_bytes(identifier, safe='')}{rest}"
        assert send(method, path, b"{}").status >= 400


@fuzzed(40)
@given(value=st.text(st.characters(max_codepoint=255), max_size=100))
@example(value="Bearer ")
@example(value="Bearer sk_")
@example(value="bearer sk_live_\x00")
@example(value="Bearer sk_live_" + "x" * 5000)
def test_random_authorization_is_401(send: Send, value: str) -> None:
    assert send("GET", "checkouts", HTTP_AUTHORIZATION=value).status == 401


def test_the_fuzzer_reaches_every_route_there_is() -> None:
    posts = {route for method, route in WRITES if method == "POST"}
    assert {"checkouts", "checkouts/<str:checkout_id>/options", "links"} < posts
    assert ("PATCH", "links/<str:link_id>/status") in WRITES
    assert {"checkouts", "chains", "events", "links"} < set(READS)
