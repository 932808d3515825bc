"""Nobody sees another merchant's objects, nor the other mode's: over every route the URL conf has.

A new route fails here until somebody decides what strangers get there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from accounts.states import Mode
from checkouts import selectors
from links import api as link_api
from links.models import LinkTemplate
from tests.cases import undone
from tests.contract.client import Answer, ApiClient, client_of
from tests.contract.payments import pay
from tests.routes import api_routes, operations, path_of

pytestmark = pytest.mark.django_db


@dataclass
class Owned:
    """What an owner has in live mode, for strangers to look for: ids by the names routes have for them, and all secrets."""

    ids: dict[str, str]
    secrets: list[str]

    @property
    def checkout_id(self) -> str:
        """The checkout's id."""
        return self.ids["checkout_id"]


def not_found(answer: Answer, owned: Owned) -> None:
    """It looks like nothing is there."""
    assert (answer.status, answer.code) == (404, "resource_missing")


def none_of_theirs(answer: Answer, owned: Owned) -> None:
    """A list without the owner's."""
    assert answer.status == 200
    assert (answer.body["data"], answer.body["total"]) == ([], 0)


def nowhere(answer: Answer, owned: Owned) -> None:
    """Not in the stranger's records; nodes do not answer here, and test mode asks none."""
    assert (answer.status, answer.code) in {(404, "resource_missing"), (503, "chain_unavailable")}


def no_money(answer: Answer, owned: Owned) -> None:
    """Sums without the owner's money."""
    assert answer.status == 200
    assert answer.body["inflow"] == answer.body["unconfirmed"] == "0.000000"
    assert (answer.body["by_chain"], answer.body["by_day"]) == ([], [])
    assert set(answer.body["counts"].values()) == {0}


def own_new_one(answer: Answer, owned: Owned) -> None:
    """The stranger's own, new object, though the owner used the same order reference."""
    assert answer.status in {201, 409}


def public(answer: Answer, owned: Owned) -> None:
    """Nobody's in particular."""
    assert answer.status == 200


def nothing_offered(answer: Answer, owned: Owned) -> None:
    """It signs what is sent, and nothing else."""
    assert answer.refusal == (400, "parameter_invalid", "accepts")


WATCHED = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
STANDARD = {"x402Version": 2, "paymentPayload": {}, "paymentRequirements": {}}
Decision = Callable[[Answer, Owned], None]
# Of the owner's checkout, whose id is filled in.
OF_THE_OWNER = {"source": {"checkout": ""}}
# Operation to what a stranger gets, and the body it sends.
DECISIONS: dict[tuple[str, str], tuple[Decision, Any]] = {
    ("POST", "checkouts"): (own_new_one, {"amount": "25.00", "currency": "USD", "order_ref": "order-1"}),
    ("GET", "checkouts"): (none_of_theirs, None),
    ("GET", "checkouts/<str:checkout_id>"): (not_found, None),
    ("GET", "checkouts/<str:checkout_id>/receipt"): (not_found, None),
    ("POST", "checkouts/<str:checkout_id>/options"): (not_found, {"chain": "base", "token": "USDC"}),
    ("POST", "checkouts/<str:checkout_id>/authorization"): (not_found, {"chain": "base", "account": WATCHED}),
    ("POST", "checkouts/<str:checkout_id>/cancel"): (not_found, None),
    ("POST", "checkouts/<str:checkout_id>/release"): (not_found, None),
    ("POST", "test/checkouts/<str:checkout_id>/advance"): (not_found, None),
    ("POST", "links"): (own_new_one, {"title": "Tea", "amount": "25.00"}),
    ("GET", "links"): (none_of_theirs, None),
    ("GET", "links/<str:link_id>"): (not_found, None),
    ("PATCH", "links/<str:link_id>"): (not_found, {"title": "Mine now"}),
    ("PATCH", "links/<str:link_id>/status"): (not_found, {"status": "archived"}),
    ("GET", "links/<str:link_id>/qr.svg"): (not_found, None),
    ("GET", "links/<str:link_id>/qr.png"): (not_found, None),
    ("POST", "link_templates"): (own_new_one, {"title": "Tea"}),
    ("GET", "link_templates"): (none_of_theirs, None),
    ("GET", "link_templates/<str:template_id>"): (not_found, None),
    ("DELETE", "link_templates/<str:template_id>"): (not_found, None),
    ("POST", "waitlist/fiat"): (own_new_one, {"email": "ines@halden.example"}),
    ("GET", "reports/summary"): (no_money, None),
    ("GET", "reports/transactions"): (none_of_theirs, None),
    ("GET", "reports/settlements"): (none_of_theirs, None),
    ("POST", "terminals"): (own_new_one, {"name": "Bar"}),
    ("GET", "terminals"): (none_of_theirs, None),
    ("GET", "terminals/<str:terminal_id>"): (not_found, None),
    ("GET", "terminals/<str:terminal_id>/sales"): (not_found, None),
    ("POST", "terminals/<str:terminal_id>/pair"): (not_found, None),
    ("POST", "terminals/<str:terminal_id>/revoke"): (not_found, None),
    ("GET", "inbox"): (none_of_theirs, None),
    ("GET", "inbox/<str:item_id>"): (not_found, None),
    ("GET", "transactions/<path:tx_hash>"): (nowhere, None),
    ("GET", "disruptions"): (public, None),
    ("GET", "events"): (none_of_theirs, None),
    ("GET", "events/<str:event_id>"): (not_found, None),
    ("GET", "x402/config"): (public, None),
    ("GET", "x402/payments"): (none_of_theirs, None),
    ("GET", "x402/supported"): (public, None),
    ("POST", "x402/offers"): (nothing_offered, {"resource": "https://shop.example/report/7", "accepts": []}),
    ("POST", "x402/settle"): (public, STANDARD),
    ("POST", "x402/verify"): (public, STANDARD),
    ("POST", "wallets"): (own_new_one, {"chain": "base", "address": WATCHED, "label": "Mine"}),
    ("GET", "wallets"): (none_of_theirs, None),
    ("GET", "wallets/<str:wallet_id>"): (not_found, None),
    ("PATCH", "wallets/<str:wallet_id>"): (not_found, {"label": "Mine now"}),
    ("DELETE", "wallets/<str:wallet_id>"): (not_found, None),
    ("GET", "wallets/<str:wallet_id>/transactions"): (not_found, None),
    ("POST", "webhook_endpoints"): (own_new_one, {"url": "https://erp.example.test/"}),
    ("GET", "webhook_endpoints"): (none_of_theirs, None),
    ("GET", "webhook_endpoints/<str:endpoint_id>"): (not_found, None),
    ("PATCH", "webhook_endpoints/<str:endpoint_id>"): (not_found, {"name": "Mine now"}),
    ("DELETE", "webhook_endpoints/<str:endpoint_id>"): (not_found, None),
    ("POST", "webhook_endpoints/<str:endpoint_id>/test"): (not_found, None),
    ("POST", "webhook_endpoints/<str:endpoint_id>/rotate_secret"): (not_found, None),
    ("GET", "webhook_deliveries"): (none_of_theirs, None),
    ("GET", "webhook_deliveries/<str:delivery_id>"): (not_found, None),
    ("POST", "refunds"): (not_found, OF_THE_OWNER),
    ("GET", "refunds"): (none_of_theirs, None),
    ("GET", "refunds/<str:payout_id>"): (not_found, None),
    ("POST", "refunds/<str:payout_id>/address"): (not_found, {"address": WATCHED}),
    ("POST", "refunds/<str:payout_id>/cancel"): (not_found, None),
    ("POST", "payouts"): (own_new_one, {"amount": "5", "chain": "base", "token": "USDC", "reference": "order-1"}),
    ("GET", "payouts"): (none_of_theirs, None),
    ("GET", "payouts/<str:payout_id>"): (not_found, None),
    ("POST", "payouts/<str:payout_id>/address"): (not_found, {"address": WATCHED}),
    ("POST", "payouts/<str:payout_id>/cancel"): (not_found, None),
    ("GET", "key"): (public, None),
    ("GET", "chains"): (public, None),
    ("GET", "currencies"): (public, None),
    ("GET", "openapi.json"): (public, None),
}


def test_somebody_decided_what_strangers_get_on_every_route() -> None:
    assert set(operations()) == set(DECISIONS)


def test_the_walk_over_the_url_conf_sees_the_routes_there_are() -> None:
    routes = api_routes()
    assert routes["checkouts/<str:checkout_id>"] == ["GET"]
    assert not any(route.startswith("^") for route in routes)


def test_every_route_but_the_public_ones_needs_a_key() -> None:
    public_routes = {"chains", "currencies", "openapi.json"}
    for method, route in operations():
        answer = ApiClient().send(method, path_of(route), b"{}")
        if route in public_routes:
            assert answer.status == 200
        else:
            assert (answer.status, answer.code) == (401, "key_missing"), route


@pytest.fixture
def owned(seller: ApiClient) -> Owned:
    """A completed live checkout, a link and a template, with everything on them that could leak."""
    fields = {
        "order_ref": "order-1",
        "customer_ref": "customer-of-the-owner",
        "description": "words-of-the-owner",
        "metadata": {"note": "note-of-the-owner"},
        "webhook_url": "https://hook-of-the-owner.example.test/",
    }
    checkout = seller.created(**fields)
    transfer, _ = pay(checkout["id"]), pay(checkout["id"])
    [item] = seller.get("/inbox").body["data"]
    link, template = (
        seller.post(path, fields | {"title": "title-of-the-owner", "amount": "25"}).body
        for path in ("/links", "/link_templates")
    )
    place = seller.post("/waitlist/fiat", {"email": "ines@halden.example", "company": "company-of-the-owner"}).body
    watched = {"chain": "base", "address": WATCHED, "label": "label-of-the-owner"}
    hook = seller.post(
        "/webhook_endpoints", {"url": "https://hook-of-the-owner.example.test/", "name": "name-of-the-owner"}
    ).body
    refund = seller.post(
        "/refunds", {"source": {"checkout": checkout["id"]}, "reason": "reason-of-the-owner", "reference": "order-1"}
    ).body
    ids = {
        "event_id": seller.get("/events").body["data"][0]["id"],
        "endpoint_id": hook["id"],
        "delivery_id": seller.get("/webhook_deliveries").body["data"][0]["id"],
        "wallet_id": seller.post("/wallets", watched).body["id"],
        "checkout_id": checkout["id"],
        "link_id": link["id"],
        "template_id": template["id"],
        "item_id": item["id"],
        "payout_id": refund["id"],
        "terminal_id": seller.post("/terminals", {"name": "till-of-the-owner"}).body["id"],
        "tx_hash": transfer.tx_hash,
    }
    return Owned(
        ids,
        [
            *ids.values(),
            hook["secret"],
            refund["claim_url"],
            *(url.rpartition("/")[2] for url in (checkout["checkout_url"], link["url"])),
            place["id"],
            item["transfer"]["id"],
            transfer.sender,
            "of-the-owner",
        ],
    )


@pytest.fixture(params=["another merchant", "another merchant's test key", "own test key"])
def stranger(request: pytest.FixtureRequest, seller: ApiClient) -> ApiClient:
    """Whoever must not see the live checkout."""
    if request.param == "own test key":
        return client_of(seller.merchant, Mode.TEST)
    mode = Mode.LIVE if request.param == "another merchant" else Mode.TEST
    return client_of(mode=mode)


def test_strangers_see_nothing_of_it_on_any_route(owned: Owned, stranger: ApiClient) -> None:
    for (method, route), (decision, body) in DECISIONS.items():
        with undone(method, route):
            sent = {"source": {"checkout": owned.checkout_id}} if body is OF_THE_OWNER else body
            answer = stranger.send(method, path_of(route, owned.ids), sent)
            decision(answer, owned)
            leaked = {secret for secret in owned.secrets if secret.encode() in answer.raw}
            # A 404 may repeat the id that was asked for, and nothing else.
            assert leaked <= (set(owned.ids.values()) if answer.status == 404 else set())


FILTERS: list[dict[str, Any]] = [
    {"status": "completed"},
    {"created_after": "2000-01-01T00:00:00Z"},
    {"limit": 100, "offset": 0, "include_total": "true"},
    {"type": "checkout.completed"},
    {"after": 0},
]


def test_no_filter_opens_anothers_lists(owned: Owned, stranger: ApiClient) -> None:
    for query in FILTERS:
        with undone(query):
            for path in ("/checkouts", "/events"):
                none_of_theirs(stranger.get(path, query), owned)
            of_links = query | ({"status": "active"} if "status" in query else {})
            for path in ("/links", "/link_templates"):
                none_of_theirs(stranger.get(path, of_links), owned)
            of_reports = {name: query[name] for name in query if name in {"limit", "offset"}}
            none_of_theirs(stranger.get("/reports/transactions", of_reports), owned)
            none_of_theirs(stranger.get("/events", {"checkout_id": owned.checkout_id}), owned)
            for name in ("event_id", "checkout_id", "endpoint_id"):
                none_of_theirs(stranger.get("/webhook_deliveries", {name: owned.ids[name]}), owned)


def test_without_the_merchant_and_mode_in_the_question_a_stranger_would_see_it(
    owned: Owned, stranger: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the two tests above: of one object, and of a list."""
    mine = "c.merchant_id = %s AND c.mode = %s"
    assert mine in selectors._BY_ID
    anybodys = selectors._BY_ID.replace(mine, "(%s::bigint, %s::text) IS NOT NULL")
    monkeypatch.setattr(selectors, "_BY_ID", anybodys)
    with pytest.raises(AssertionError):
        not_found(stranger.get(f"/checkouts/{owned.checkout_id}"), owned)
    monkeypatch.setattr(link_api, "templates_of", lambda *_: LinkTemplate.objects.all())
    with pytest.raises(AssertionError):
        none_of_theirs(stranger.get("/link_templates"), owned)


def test_an_unknown_id_and_anothers_read_the_same(owned: Owned, stranger: ApiClient) -> None:
    theirs = stranger.get(f"/checkouts/{owned.checkout_id}")
    unknown_id = owned.checkout_id[:-6] + "zzzzzz"
    nobodys = stranger.get(f"/checkouts/{unknown_id}")
    assert theirs.raw.replace(owned.checkout_id.encode(), b"ID") == nobodys.raw.replace(unknown_id.encode(), b"ID")


def test_the_owner_does_see_it(owned: Owned, seller: ApiClient) -> None:
    assert seller.get(f"/checkouts/{owned.checkout_id}").body["status"] == "completed"
    assert seller.get("/checkouts").body["total"] == 1
    events = seller.get("/events", {"checkout_id": owned.checkout_id}).body
    assert [event["type"] for event in events["data"]] == ["checkout.completed"]
    for name in ("event_id", "checkout_id", "endpoint_id"):
        assert seller.get("/webhook_deliveries", {name: owned.ids[name]}).body["total"] == 1


def test_a_live_key_never_sees_test_objects(seller: ApiClient) -> None:
    tested = client_of(seller.merchant, Mode.TEST).created()["id"]
    assert seller.get(f"/checkouts/{tested}").code == "resource_missing"
    assert seller.get("/checkouts").body["total"] == 0
    path = f"/checkouts/{tested}/options"
    assert seller.post(path, {"chain": "base", "token": "USDC"}).status == 404
