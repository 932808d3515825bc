"""The routes of the facade: who may ask for what, what strangers find, and how refusals look."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.keys.authentication import key_cache
from accounts.keys.service import revoke_api_key, rotate_api_key
from accounts.models import ApiKey
from accounts.states import Mode
from gateway.core.api.scopes import Scope
from gateway.pages.api_document import document
from greenfield.models import Connection
from greenfield.permissions import PERMISSIONS, held_by, opening, scopes_of
from tests.contract.provoking import count_requests
from tests.factories import NOON, make_key, make_live_chain, make_merchant
from tests.greenfield.plugin import (
    MAGENTO,
    PREFIX,
    PRESTASHOP,
    SHOPWARE,
    WOO,
    Plugin,
    make_live_plugin,
    make_plugin,
    make_scoped,
)
from tests.routes import written_routes
from wallets.selectors import offerable_chains
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db

UNDER = "btcpay/api/v1/"
CREATE = {"amount": "25.00", "currency": "USD"}
HOOK = {"url": "https://shop.example/hook"}
BODIES: dict[str, Any] = {
    "stores/<str:store_id>/invoices": CREATE,
    "stores/<str:store_id>/invoices/<str:invoice_id>/status": {"status": "Invalid"},
    "stores/<str:store_id>/pull-payments": {"amount": "5.00", "currency": "USD", "name": "Refund of order 9"},
    "stores/<str:store_id>/webhooks": HOOK,
    "stores/<str:store_id>/webhooks/<str:webhook_id>": HOOK,
}


def _operations() -> list[tuple[str, str]]:
    """Every (method, route) that the facade has, HEAD left out."""
    # What answers unknown paths stands above the prefix.
    routes: list[Any] = [route for route in written_routes() if route.path.startswith(UNDER)]
    return [
        (method.upper(), route.path.removeprefix(UNDER))
        for route in routes
        for method in route.pattern.callback.actions
        if method != "head"
    ]


def _scope_of(method: str, route: str) -> Scope | None:
    found = next(each for each in written_routes() if each.path == UNDER + route)
    view: Any = found.pattern.callback
    scope: Scope | None = view.cls.scopes[view.actions[method.lower()]]
    return scope


def _path(route: str, **ids: str) -> str:
    for name in ("store_id", "invoice_id", "webhook_id"):
        route = route.replace(f"<str:{name}>", ids.get(name, "nobodys"))
    return f"/{route}"


OPERATIONS = _operations()


def test_the_facade_has_the_routes_that_plugins_call_and_no_others() -> None:
    assert sorted(OPERATIONS) == [
        ("DELETE", "stores/<str:store_id>/webhooks/<str:webhook_id>"),
        ("GET", "api-keys/current"),
        ("GET", "server/info"),
        ("GET", "stores"),
        ("GET", "stores/<str:store_id>"),
        ("GET", "stores/<str:store_id>/invoices"),
        ("GET", "stores/<str:store_id>/invoices/<str:invoice_id>"),
        ("GET", "stores/<str:store_id>/invoices/<str:invoice_id>/payment-methods"),
        ("GET", "stores/<str:store_id>/payment-methods"),
        ("GET", "stores/<str:store_id>/payment-methods/LightningNetwork"),
        ("GET", "stores/<str:store_id>/payment-methods/OnChain"),
        ("GET", "stores/<str:store_id>/webhooks"),
        ("GET", "stores/<str:store_id>/webhooks/<str:webhook_id>"),
        ("POST", "stores/<str:store_id>/invoices"),
        ("POST", "stores/<str:store_id>/invoices/<str:invoice_id>/refund"),
        ("POST", "stores/<str:store_id>/invoices/<str:invoice_id>/status"),
        ("POST", "stores/<str:store_id>/pull-payments"),
        ("POST", "stores/<str:store_id>/webhooks"),
        ("PUT", "stores/<str:store_id>/webhooks/<str:webhook_id>"),
    ]


@pytest.mark.parametrize(("method", "route"), OPERATIONS, ids=map(" ".join, OPERATIONS))
def test_an_operation_opens_to_its_own_scope_alone(method: str, route: str) -> None:
    merchant, scope = make_merchant(), _scope_of(method, route)
    others = [each for each in Scope if each != scope]
    path, body = _path(route, store_id=merchant.public_id), BODIES.get(route)
    having = make_scoped(merchant, *([scope] if scope else others[:1]))
    assert having.send(method, path, body).status_code not in {401, 403, 405}
    lacking = make_scoped(merchant, *others)
    if scope is None:
        assert lacking.send(method, path, body).status_code == 200
        return
    status, told = lacking.refusal(method, path, body)
    assert (status, told["code"], told["missingPermission"]) == (403, "missing-permission", opening(scope))


@pytest.mark.parametrize(
    ("method", "route"), [each for each in OPERATIONS if "store_id" in each[1]], ids=lambda each: str(each)
)
@pytest.mark.parametrize("mode", Mode)
def test_nobody_finds_another_store_or_the_other_modes_objects(method: str, route: str, mode: Mode) -> None:
    owner, stranger = make_plugin(mode=Mode.TEST), make_plugin(mode=mode)
    invoice = owner.order()["id"]
    webhook = owner.post(f"{owner.store}/webhooks", HOOK)["id"]
    ids = {"invoice_id": invoice, "webhook_id": webhook}
    theirs = _path(route, store_id=owner.merchant.public_id, **ids)
    assert stranger.refusal(method, theirs, BODIES.get(route)) == (
        404,
        {"code": "store-not-found", "message": "There is no such store for this API key."},
    )
    if "invoice_id" in route or "webhook_id" in route:
        here = _path(route, store_id=stranger.merchant.public_id, **ids)
        status, told = stranger.refusal(method, here, BODIES.get(route))
        assert (status, told["code"]) == (404, "invoice-not-found" if "invoice_id" in route else "webhook-not-found")


def test_live_and_test_keys_of_a_merchant_see_their_own_mode() -> None:
    merchant = make_merchant()
    tester, live = make_plugin(merchant), make_plugin(merchant, Mode.LIVE)
    invoice = tester.order()["id"]
    tester.post(f"{tester.store}/webhooks", HOOK)
    assert live.get(f"{live.store}/invoices") == []
    assert live.get(f"{live.store}/webhooks") == []
    assert live.send("GET", f"{live.store}/invoices/{invoice}").status_code == 404
    assert [one["id"] for one in tester.get(f"{tester.store}/invoices")] == [invoice]


def test_without_a_valid_key_the_answer_is_401_in_their_form(woo: Plugin) -> None:
    for header in ("", "token nonsense", f"Basic {woo.key}"):
        answer = woo.send("GET", "/stores", HTTP_AUTHORIZATION=header)
        told = json.loads(answer.content)
        assert (answer.status_code, told["code"], set(told)) == (401, "unauthenticated", {"code", "message"})
        assert answer["WWW-Authenticate"] == "token"
        assert woo.key not in answer.text
    assert woo.send("GET", "/stores", HTTP_AUTHORIZATION=f"Bearer {woo.key}").status_code == 200
    revoke_api_key(ApiKey.objects.get(), now=NOON)
    key_cache.clear()
    assert woo.send("GET", "/stores").status_code == 401


def test_an_unknown_path_and_an_unknown_method_are_refused_in_their_form(woo: Plugin) -> None:
    assert woo.refusal("GET", "/nowhere")[1]["code"] == "not-found"
    assert Client().get("/btcpay/api/v2/stores").json()["code"] == "not-found"
    assert woo.refusal("DELETE", "/stores") == (
        405,
        {"code": "method-not-allowed", "message": "This route does not take that method."},
    )


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff", b"{" * 300])
def test_a_body_that_is_no_object_is_422(woo: Plugin, body: bytes) -> None:
    status, told = woo.refusal("POST", f"{woo.store}/invoices", body)
    assert status == 422
    assert [set(one) for one in told] == [{"path", "message"}]


@pytest.mark.usefixtures("still_window")
def test_too_many_requests_are_429_in_their_form(woo: Plugin) -> None:
    assert woo.send("GET", f"{woo.store}/invoices").status_code == 200
    count_requests(29)
    answer = woo.send("GET", f"{woo.store}/invoices")
    assert (answer.status_code, json.loads(answer.content)["code"]) == (429, "rate-limit")
    assert int(answer["Retry-After"]) >= 1
    # What a polling plugin uses up is not what orders need.
    assert woo.order()["status"] == "New"


def test_the_server_says_a_version_that_offers_refunds(woo: Plugin) -> None:
    told = woo.get("/server/info")
    assert tuple(map(int, told["version"].split("."))) >= (1, 7, 6)
    assert (told["fullySynched"], told["onion"]) == (True, "")
    assert "USDC-BASE" in told["supportedPaymentMethods"]


@pytest.mark.parametrize(
    "asked", [WOO, PRESTASHOP, MAGENTO, SHOPWARE], ids=["woo", "prestashop", "magento", "shopware"]
)
def test_a_key_has_exactly_the_permissions_that_were_asked_for(asked: tuple[str, ...]) -> None:
    plugin = make_plugin(permissions=asked)
    told = plugin.get("/api-keys/current")
    assert told["permissions"] == [f"{name}:{plugin.merchant.public_id}" for name in asked]
    assert told["apiKey"] == plugin.key
    assert isinstance(told["label"], str)


def test_a_rotated_key_has_the_permissions_that_the_first_one_was_asked_for() -> None:
    """Else a plugin that compares them would stop working when its owner rotates the key."""
    merchant = make_merchant()
    first, _ = make_key(merchant, Mode.TEST, *scopes_of(PRESTASHOP))
    Connection.objects.create(api_key=first, permissions=list(PRESTASHOP), application="PrestaShop")
    second, _ = rotate_api_key(first, ends_in=timedelta(days=1), now=NOON, actor=SYSTEM)
    _, secret = rotate_api_key(second, ends_in=timedelta(days=1), now=NOON, actor=SYSTEM)
    plugin = Plugin(secret, merchant)
    told = plugin.get("/api-keys/current")
    assert told["permissions"] == [f"{name}:{merchant.public_id}" for name in PRESTASHOP]
    plugin.post(f"{plugin.store}/webhooks", HOOK)
    assert Endpoint.objects.get().name == "PrestaShop"


def test_a_key_made_by_hand_has_the_permissions_that_its_scopes_allow() -> None:
    merchant = make_merchant()
    reader = make_scoped(merchant, Scope.CHECKOUTS_READ)
    assert reader.get("/api-keys/current")["permissions"] == [
        f"btcpay.store.{name}:{merchant.public_id}" for name in ("canviewinvoices", "canviewstoresettings")
    ]
    assert set(held_by(list(Scope))) == {name for name, each in PERMISSIONS.items() if each.scopes}


def test_no_permission_opens_what_only_people_do_or_what_plugins_need_not() -> None:
    assert set(scopes_of(PERMISSIONS)) == {
        "checkouts:read",
        "checkouts:write",
        "payouts:request",
        "webhooks:read",
        "webhooks:write",
    }
    assert scopes_of(["btcpay.store.canmodifystoresettings"]) == ()


def test_a_store_is_the_merchant_and_each_text_is_one(woo: Plugin) -> None:
    [store] = woo.get("/stores")
    assert (store["id"], store["name"]) == (woo.merchant.public_id, woo.merchant.name)
    assert woo.get(woo.store) == store
    for name in ("website", "defaultCurrency", "speedPolicy", "networkFeeMode", "defaultLang", "defaultPaymentMethod"):
        assert isinstance(store[name], str)
    for name in ("customLogo", "customCSS", "htmlTitle", "lightningDescriptionTemplate"):
        assert isinstance(store[name], str)
    for name in ("invoiceExpiration", "monitoringExpiration", "paymentTolerance", "recommendedFeeBlockTarget"):
        assert type(store[name]) is int
    for name in ("lightningAmountInSatoshi", "lightningPrivateRouteHints", "onChainWithLnInvoiceFallback"):
        assert store[name] is False


def test_payment_methods_are_tokens_on_networks_with_their_wallets(live_woo: Plugin) -> None:
    found = live_woo.get(f"{live_woo.store}/payment-methods")
    ids = {one["paymentMethodId"] for one in found}
    assert ids == {"USDC-BASE", "USDC-POLYGON", "USDT-POLYGON"}
    assert {one["enabled"] for one in found} == {True}
    assert set(live_woo.get("/server/info")["supportedPaymentMethods"]) == ids


def test_payment_methods_are_listed_and_orders_refused_while_no_network_is_read(live_woo: Plugin) -> None:
    """A plugin that finds none at that moment turns itself off, or shows buyers an empty list. BTCPay Server lists what is set up."""
    methods, info = (live_woo.get(path) for path in (f"{live_woo.store}/payment-methods", "/server/info"))
    for chain in ("base", "polygon"):
        make_live_chain(chain, head_at=timezone.now() - timedelta(hours=1))
    assert offerable_chains(live_woo.merchant.pk, Mode.LIVE) == []
    assert live_woo.get(f"{live_woo.store}/payment-methods") == methods != []
    assert live_woo.get("/server/info") == info
    order = CREATE | {"metadata": {"orderId": "1"}}
    status, [told] = live_woo.refusal("POST", f"{live_woo.store}/invoices", order)
    assert (status, told["message"]) == (422, "Set up a receiving wallet on at least one available chain first.")
    make_live_chain("base")
    assert live_woo.post(f"{live_woo.store}/invoices", order)["status"] == "New"


def test_a_method_without_a_wallet_or_a_factory_is_not_listed(live_woo: Plugin) -> None:
    make_live_chain("polygon", factory_ok=False)
    make_live_chain("ethereum")
    assert [one["paymentMethodId"] for one in live_woo.get(f"{live_woo.store}/payment-methods")] == ["USDC-BASE"]


def test_prestashops_library_gets_payment_methods_as_btcpay_server_1_gave_them(local_nodes: None) -> None:
    """It adds each one's `data` to an array by its name, and fails at a list. Without the two older lists it offers buyers nothing."""
    plugin = make_live_plugin(PRESTASHOP)
    ids = {"USDC-BASE", "USDC-POLYGON", "USDT-POLYGON"}
    found = plugin.get(f"{plugin.store}/payment-methods")
    assert found.keys() == ids
    assert [(one["enabled"], one["data"]) for one in found.values()] == [(True, {})] * 3
    assert {one["cryptoCode"] for one in plugin.get(f"{plugin.store}/payment-methods/OnChain")} == ids
    assert plugin.get(f"{plugin.store}/payment-methods/LightningNetwork") == []


def test_shopwares_plugin_finds_the_store_at_the_root_and_nothing_else_is_there(woo: Plugin) -> None:
    """It drops the path of the address that it was given, as an absolute path does in a browser."""

    def asked(method: str, path: str, body: Any = None) -> Any:
        client = Client(raise_request_exception=False, REMOTE_ADDR=woo.address)
        sent = b"" if body is None else json.dumps(body).encode()
        return client.generic(method, path, sent, "application/json", HTTP_AUTHORIZATION=f"token {woo.key}")

    made = asked("POST", f"/api/v1{woo.store}/invoices", CREATE)
    assert (made.status_code, made["Cache-Control"]) == (200, "no-store")
    there = f"/api/v1{woo.store}/invoices/{made.json()['id']}"
    assert asked("GET", there).json() == woo.get(there.removeprefix("/api/v1"))
    assert asked("GET", "/api/v1/stores/mer_x/invoices").json()["code"] == "store-not-found"
    assert asked("GET", f"/api/v1{woo.store}/nothing").json()["code"] == "not-found"
    # What else BTCPay Server has at these paths is ours, or nothing.
    for path in ("/api/v1/server/info", "/api/v1/api-keys/current", "/api/v1/storesx"):
        # Our own API does not know a key that is sent as BTCPay Server's.
        assert asked("GET", path).json()["error"]["code"] == "key_invalid"


def test_our_own_document_leaves_the_facade_out() -> None:
    assert b"/btcpay" not in document()
    assert b"/stores" not in document()


def test_the_prefix_is_where_the_guide_says() -> None:
    assert PREFIX == "/btcpay/api/v1"
