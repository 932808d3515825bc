"""What each key may do: every route against every scope, and who is told what when a key lacks one."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounts.keys.scopes import PRESETS, RESOURCES
from accounts.keys.service import digest_of
from accounts.states import SCOPES_OF_0_25, Mode, Preset
from checkouts.api import CheckoutViewSet
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.pages.api_document import document as document_bytes
from tests.contract.client import Answer, ApiClient
from tests.contract.scope_tables import CUSTODY, GUIDE, README, guarded, scope_of, with_tables
from tests.factories import NOON, make_key, make_merchant
from tests.routes import described, operations, path_of

pytestmark = pytest.mark.django_db


def ask(method: str, route: str, secret: str) -> Answer:
    return ApiClient(key=secret).send(method, path_of(route), {})


@pytest.mark.parametrize(("method", "route"), guarded(), ids=map(" ".join, guarded()))
def test_an_operation_opens_to_its_own_scope_alone(method: str, route: str) -> None:
    scope = scope_of(method, route)
    merchant = make_merchant()
    others = [each for each in Scope if each != scope]
    _, lacking = make_key(merchant, Mode.TEST, *others)
    _, having = make_key(merchant, Mode.TEST, *([scope] if scope else others[:1]))
    refused = ask(method, route, lacking)
    assert ask(method, route, having).status not in {401, 403, 405}
    if scope is None:
        assert refused.status not in {401, 403, 405}
    else:
        assert refused.refusal == (403, "scope_insufficient", None)
        assert refused.body["error"]["required_scope"] == scope
        assert refused.headers["WWW-Authenticate"] == f'Bearer error="insufficient_scope", scope="{scope}"'


def test_every_scope_opens_something_and_can_be_chosen() -> None:
    named = {scope_of(*operation) for operation in guarded()}
    offered = {scope for resource in RESOURCES for _, scopes in resource.levels for scope in scopes}
    assert named - {None} == set(Scope) == offered


def test_an_action_without_a_scope_is_refused() -> None:
    class Forgetful(ApiViewSet):
        action = "list"

    with pytest.raises(KeyError):
        Forgetful().required_scope()


def test_a_route_whose_action_lost_its_scope_does_nothing_for_any_key(monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = make_key(make_merchant(), Mode.TEST, *Scope)
    client = ApiClient(key=secret)
    monkeypatch.setattr(CheckoutViewSet, "scopes", {"list": Scope.CHECKOUTS_READ})
    assert client.create().status == 500
    assert client.get("/checkouts").body["data"] == []


def test_keys_of_before_scopes_do_what_they_did_and_no_later_scope_joins_them() -> None:
    assert set(SCOPES_OF_0_25) <= set(Scope)
    assert PRESETS[Preset.EVERYTHING] == SCOPES_OF_0_25


OPEN_IN_0_25 = """
GET checkouts, POST checkouts, GET checkouts/{checkout_id}, POST checkouts/{checkout_id}/cancel,
POST checkouts/{checkout_id}/options, POST checkouts/{checkout_id}/release, GET events, POST waitlist/fiat,
GET links, POST links, GET links/{link_id}, PATCH links/{link_id}, PATCH links/{link_id}/status,
GET links/{link_id}/qr.png, GET links/{link_id}/qr.svg, GET link_templates, POST link_templates,
GET link_templates/{template_id}, DELETE link_templates/{template_id},
GET reports/settlements, GET reports/summary, GET reports/transactions,
GET wallets, POST wallets, GET wallets/{wallet_id}, PATCH wallets/{wallet_id}, DELETE wallets/{wallet_id},
GET wallets/{wallet_id}/transactions,
GET x402/config, GET x402/payments, POST x402/settle, GET x402/supported, POST x402/verify
"""
# Of what came later: the same objects read in another way, and a step of a payment that such a key could make already.
OPENED_SINCE = """
GET checkouts/{checkout_id}/receipt, GET transactions/{tx_hash}, GET disruptions, GET events/{event_id}, GET key,
POST checkouts/{checkout_id}/authorization, POST test/checkouts/{checkout_id}/advance,
POST x402/offers
"""


def test_a_key_of_before_scopes_opens_what_it_opened_and_little_more() -> None:
    """Its row has what 0.25 wrote; the rest is what the upgrade's migration gives each row that is there."""
    merchant, secret = make_merchant(), "sk_test_" + "k" * 43
    row: dict[str, Any] = {
        "public_id": "key_old",
        "merchant_id": merchant.pk,
        "mode": "test",
        "name": "old",
        "last_four": "kkkk",
    }
    row |= {"digest": digest_of(secret), "created_at": NOON}
    with connection.cursor() as cursor:
        marks = ", ".join(["%s"] * len(row))
        cursor.execute(f"INSERT INTO accounts_apikey ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    opened: set[tuple[str, str]] = set()
    shut: set[tuple[str, str]] = set()
    for method, route in guarded():
        status = ask(method, route, secret).status
        assert status not in {401, 405, 429, 500}
        (shut if status == 403 else opened).add((method, route))
    named = {f"{method} {described(route)}" for method, route in opened}
    assert named == {one.strip() for one in f"{OPEN_IN_0_25.strip()},{OPENED_SINCE}".split(",")}
    later = {"inbox:read", "payouts:read", "payouts:request", "terminals:read", "terminals:write"}
    later |= {"webhooks:read", "webhooks:write"}
    assert {scope_of(*operation) for operation in shut} == later


# The label beside a new key, and all that it stands for: nothing else follows from it.
PRESETS_WANTED = {
    "shop": "checkouts:read checkouts:write links:read events:read payouts:read payouts:request",
    "shop_plugin": "checkouts:read checkouts:write links:read events:read payouts:read payouts:request"
    " webhooks:read webhooks:write",
    "paid_api": "x402:read x402:verify x402:settle",
    "accountant": "checkouts:read links:read inbox:read payouts:read reports:read wallets:read x402:read",
    "agent": "checkouts:read links:read events:read inbox:read payouts:read reports:read terminals:read wallets:read"
    " webhooks:read x402:read",
    "everything": "checkouts:read checkouts:write escrow:release links:read links:write events:read reports:read"
    " wallets:read wallets:write x402:read x402:verify x402:settle",
}


def test_each_preset_has_these_scopes_and_no_others() -> None:
    assert {str(name): set(scopes) for name, scopes in PRESETS.items()} == {
        name: set(scopes.split()) for name, scopes in PRESETS_WANTED.items()
    }


def test_no_scope_is_named_for_what_people_decide() -> None:
    """Approvals, receiving wallets, keys, people, branding and fees have none: a new scope is thought about here."""
    assert {str(scope) for scope in Scope} == {
        "checkouts:read", "checkouts:write", "escrow:release", "links:read", "links:write", "events:read",
        "inbox:read", "payouts:read", "payouts:request", "reports:read", "terminals:read", "terminals:write",
        "wallets:read", "wallets:write", "webhooks:read", "webhooks:write", "x402:read", "x402:verify", "x402:settle",
    }  # fmt: skip


def test_presets_that_read_change_nothing() -> None:
    for preset in (Preset.ACCOUNTANT, Preset.AGENT):
        assert all(scope.endswith(":read") for scope in PRESETS[preset])


def test_a_missing_scope_says_nothing_about_the_object() -> None:
    merchant = make_merchant()
    whole = ApiClient(key=make_key(merchant, Mode.TEST)[1])
    there = whole.created()["id"]
    reader = ApiClient(key=make_key(merchant, Mode.TEST, Scope.CHECKOUTS_READ)[1])
    answers = [reader.send("POST", f"/checkouts/{name}/cancel") for name in (there, "chk_nobody")]
    assert [answer.refusal for answer in answers] == [(403, "scope_insufficient", None)] * 2


def test_an_unknown_method_is_that_whatever_the_key_may_do() -> None:
    _, secret = make_key(make_merchant(), Mode.TEST, Scope.EVENTS_READ)
    assert ApiClient(key=secret).send("DELETE", "/checkouts").status == 405
    assert ApiClient(key=secret).send("GET", "/nowhere").refusal == (404, "route_missing", None)


def test_head_needs_what_get_needs() -> None:
    merchant = make_merchant()
    assert ApiClient(key=make_key(merchant, Mode.TEST, Scope.EVENTS_READ)[1]).send("HEAD", "/checkouts").status == 403
    assert (
        ApiClient(key=make_key(merchant, Mode.TEST, Scope.CHECKOUTS_READ)[1]).send("HEAD", "/checkouts").status == 200
    )


def test_a_key_is_told_what_it_is() -> None:
    merchant = make_merchant()
    make_key(merchant, Mode.TEST)
    key, secret = make_key(merchant, Mode.TEST, Scope.REPORTS_READ, networks=("10.0.0.0/8",))
    answer = ApiClient(key=secret).get("/key")
    assert answer.body == {
        "id": key.public_id,
        "name": "test",
        "mode": "test",
        "merchant": {"id": merchant.public_id, "name": merchant.name},
        "scopes": ["reports:read"],
        "allowed_networks": ["10.0.0.0/8"],
        "expires_at": None,
        "created_at": "2026-11-20T12:00:00.000000Z",
    }


def test_the_document_names_each_operations_scope() -> None:
    document = json.loads(document_bytes())
    named = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert len(named) == len(operations()) - 1
    scopes = sorted(str(scope_of(*operation)) for operation in guarded())
    told = [op["security"][0]["apiKey"] for op in named.values() if op["security"]]
    assert sorted(str(next(iter(each), None)) for each in told) == scopes
    for operation in named.values():
        if operation["security"]:
            assert operation.get("x-required-scope") == next(iter(operation["security"][0]["apiKey"]), None)
            assert "403" in operation["responses"]


def test_each_post_with_a_key_says_what_makes_a_repeat_safe() -> None:
    document = json.loads(document_bytes())
    told = {
        operation["operationId"]: operation.get("x-idempotency")
        for methods in document["paths"].values()
        for method, operation in methods.items()
        if method == "post" and operation["security"]
    }
    assert len(told) == len([method for method, _ in guarded() if method == "POST"])
    named = {"createCheckout": "order_ref", "createPayout": "reference", "createRefund": "reference"}
    assert told == {name: [*([named[name]] if name in named else []), "Idempotency-Key"] for name in told}
    others = [o for m in document["paths"].values() for method, o in m.items() if method != "post"]
    assert not any("x-idempotency" in operation for operation in others)


@pytest.mark.parametrize("document", [GUIDE, CUSTODY, README], ids=lambda path: path.name)
def test_the_documents_list_the_scopes_that_there_are(document: Path) -> None:
    assert with_tables(document.read_text()) == document.read_text(), "run script/scopes"


def test_custody_says_of_each_preset_what_its_thief_can() -> None:
    """Without the head of the table, the test above would compare nothing."""
    rows = CUSTODY.read_text().partition("| preset | who steals such a live key can |\n|---|---|\n")[2].split("\n")
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows[: len(PRESETS)]] == [one.label for one in PRESETS]
