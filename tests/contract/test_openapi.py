"""The OpenAPI document is valid, complete, and true: every response it promises is provoked and fits its schema."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator, FormatChecker

from accounts.models import Merchant
from accounts.states import Mode
from tests.cases import undone
from tests.contract.authorizing import AUTHORIZATIONS
from tests.contract.client import NEW_SETTINGS, Answer, ApiClient, client_of
from tests.contract.examples import check_example
from tests.contract.hooking import HOOKS
from tests.contract.machines import CONFIG, MACHINES
from tests.contract.payments import pay
from tests.contract.provoking import (
    Case,
    Send,
    bad_key,
    big,
    body_refusals,
    elsewhere,
    limited,
    nobody,
    plain,
    refusals,
    used_key,
)
from tests.contract.refunding import PAYOUTS
from tests.contract.tilling import TILLS
from tests.contract.watching import WALLETS
from tests.dashboard.machines import make_settlement
from tests.factories import NOON
from tests.links.factories import make_paid_invoice
from tests.routes import api_routes, described, operations
from tests.tree import ROOT
from tests.webhooks.factories import make_endpoint
from tests.x402.euros import take_euros
from wallets.selectors import forget

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("still_clock")]

Document = dict[str, Any]
ITEM = "/checkouts/{checkout_id}"
OPTIONS = "/checkouts/{checkout_id}/options"
CANCEL = "/checkouts/{checkout_id}/cancel"
RELEASE = "/checkouts/{checkout_id}/release"
RECEIPT = "/checkouts/{checkout_id}/receipt"
ADVANCE = "/test/checkouts/{checkout_id}/advance"
# Its answer has a code that is stored nowhere.
UNKEPT = "/terminals/{terminal_id}/pair"
CHOICE = {"chain": "base", "token": "USDC"}
NEW_CHECKOUT = {"description": "Two tickets", "order_ref": "order-1001", "redirect_url": "https://shop.example/thanks"}


def test_the_document_passes_its_own_validation_without_a_warning() -> None:
    if NEW_SETTINGS not in os.environ:
        call_command("spectacular", validate=True, fail_on_warn=True, file="/dev/null")
        return
    # Some fields have the currencies of the process's start.
    subprocess.run(
        [
            sys.executable,
            "manage.py",
            "spectacular",
            "--skip-checks",
            "--validate",
            "--fail-on-warn",
            "--file",
            "/dev/null",
        ],
        cwd=ROOT,
        env=os.environ | {"PRICE_CURRENCIES": "EUR,JPY"},
        check=True,
    )


def test_every_route_is_described(document: Document) -> None:
    told = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    routes = {(method, "/api/v1/" + described(route)) for method, route in operations() if route != "openapi.json"}
    assert told == routes


def test_it_says_which_routes_need_a_key(document: Document) -> None:
    [(name, scheme)] = document["components"]["securitySchemes"].items()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for path, methods in document["paths"].items():
        for operation in methods.values():
            needed = path not in {"/api/v1/chains", "/api/v1/currencies"}
            assert [list(each) for each in operation.get("security", [])] == [[name]] * needed, path


def test_a_post_that_keeps_no_answer_promises_no_replay_and_no_refused_repeat(document: Document) -> None:
    kept = {
        path: (
            {"Idempotent-Replayed" in answer["headers"] for status, answer in told.items() if status < "3"},
            "the `Idempotency-Key` was used" in told["409"]["description"],
        )
        for path, methods in document["paths"].items()
        if "post" in methods
        for told in [methods["post"]["responses"]]
    }
    assert {path for path, promised in kept.items() if promised != ({True}, True)} == {"/api/v1" + UNKEPT}
    assert kept["/api/v1" + UNKEPT] == ({False}, False)


def choose(client: ApiClient, **extra: Any) -> Answer:
    path = f"/checkouts/{client.created()['id']}/options"
    return client.send("POST", path, extra.pop("body", CHOICE), **extra)


def choose_after_payment(client: ApiClient) -> Answer:
    checkout_id = client.created()["id"]
    pay(checkout_id)
    return client.post(f"/checkouts/{checkout_id}/options", CHOICE)


def link_of_a_closed_account(client: ApiClient) -> Answer:
    Merchant.objects.update(closed_at=NOON)
    return client.post("/links", NEW_LINK)


def read_paid(client: ApiClient) -> Answer:
    checkout_id = client.created(description="Tea", metadata={"a": 1})["id"]
    pay(checkout_id)
    return client.get(f"/checkouts/{checkout_id}")


def list_paid(client: ApiClient) -> Answer:
    read_paid(client)
    return client.get("/checkouts")


def events_of_a_payment(client: ApiClient) -> Answer:
    read_paid(client)
    answer = client.get("/events")
    assert answer.body["data"]
    return answer


def event_of_a_payment(client: ApiClient) -> Answer:
    event_id = events_of_a_payment(client).body["data"][0]["id"]
    return client.get(f"/events/{event_id}")


def cancel_unpaid(client: ApiClient) -> Answer:
    return client.post(f"/checkouts/{client.created()['id']}/cancel", b"")


def cancel_paid(client: ApiClient) -> Answer:
    checkout_id = client.created()["id"]
    pay(checkout_id)
    return client.post(f"/checkouts/{checkout_id}/cancel", b"")


def receipt_of_paid(client: ApiClient) -> Answer:
    checkout_id = client.created()["id"]
    pay(checkout_id)
    answer = client.get(f"/checkouts/{checkout_id}/receipt")
    assert answer.raw.count(b".") == 2
    return answer


def release_paid(client: ApiClient) -> Answer:
    checkout_id = client.created(escrow=True)["id"]
    pay(checkout_id)
    return client.post(f"/checkouts/{checkout_id}/release", b"")


def release_unpaid(client: ApiClient) -> Answer:
    checkout_id = client.created(escrow=True)["id"]
    return client.post(f"/checkouts/{checkout_id}/release", b"")


def advance(client: ApiClient, body: Any = None, **extra: Any) -> Answer:
    tester = client_of(client.merchant, Mode.TEST)
    checkout_id = tester.created(test_scenario="topped_up")["id"]
    return tester.send("POST", f"/test/checkouts/{checkout_id}/advance", body, **extra)


def advance_ended(client: ApiClient) -> Answer:
    tester = client_of(client.merchant, Mode.TEST)
    path = f"/test/checkouts/{tester.created()['id']}/advance"
    assert tester.send("POST", path).status == 200
    return tester.send("POST", path)


def repeat(client: ApiClient) -> Answer:
    client.created(**NEW_CHECKOUT)
    return client.create(**NEW_CHECKOUT)


LINK = "/links/{link_id}"
TEMPLATE = "/link_templates/{template_id}"
NEW_LINK = {"title": "Tea", "amount": "25.00"}


def make_link(client: ApiClient) -> str:
    answer = client.post("/links", NEW_LINK | {"metadata": {"a": 1}})
    return f"/links/{answer.body['id']}"


def make_template(client: ApiClient) -> str:
    return f"/link_templates/{client.post('/link_templates', NEW_LINK).body['id']}"


def on_link(method: str, rest: str = "", body: Any = None) -> Send:
    return lambda client: client.send(method, make_link(client) + rest, body)


def on_template(method: str) -> Send:
    return lambda client: client.send(method, make_template(client))


def list_after(make: Callable[[ApiClient], str], path: str) -> Send:
    def send(client: ApiClient) -> Answer:
        make(client)
        answer = client.get(path)
        assert answer.body["data"]
        return answer

    return send


def reprice_a_paid_invoice(client: ApiClient) -> Answer:
    assert client.merchant is not None
    link = make_paid_invoice(client.merchant, mode=Mode.LIVE)
    return client.send("PATCH", f"/links/{link.public_id}", {"amount": "26.00"})


LINKS: dict[Case, Send] = {
    ("post", "/links", 201): lambda client: client.post("/links", NEW_LINK),
    ("post", "/links", 404): lambda client: client.post("/links", NEW_LINK | {"template": "ltp_nobodys"}),
    ("post", "/links", 409): link_of_a_closed_account,
    **refusals("POST", "/links", "/links", 60),
    **body_refusals("POST", "/links", lambda client: "/links"),
    ("get", "/links", 200): list_after(make_link, "/links"),
    ("get", "/links", 400): lambda client: client.get("/links", {"limit": 0}),
    **refusals("GET", "/links", "/links", 120),
    ("get", LINK, 200): on_link("GET"),
    **refusals("GET", "/links/x", LINK, 120),
    ("patch", LINK, 200): on_link("PATCH", body={"title": "Coffee"}),
    ("patch", LINK, 409): reprice_a_paid_invoice,
    **refusals("PATCH", "/links/x", LINK, 60),
    **body_refusals("PATCH", LINK, make_link),
    ("patch", LINK + "/status", 200): on_link("PATCH", "/status", {"status": "paused"}),
    **refusals("PATCH", "/links/x/status", LINK + "/status", 60),
    **body_refusals("PATCH", LINK + "/status", lambda client: make_link(client) + "/status"),
    ("get", LINK + "/qr.svg", 200): on_link("GET", "/qr.svg"),
    **refusals("GET", "/links/x/qr.svg", LINK + "/qr.svg", 120),
    ("get", LINK + "/qr.png", 200): on_link("GET", "/qr.png"),
    **refusals("GET", "/links/x/qr.png", LINK + "/qr.png", 120),
    ("post", "/link_templates", 201): lambda client: client.post("/link_templates", NEW_LINK),
    ("post", "/link_templates", 409): used_key("/link_templates", NEW_LINK),
    **refusals("POST", "/link_templates", "/link_templates", 60),
    **body_refusals("POST", "/link_templates", lambda client: "/link_templates"),
    ("get", "/link_templates", 200): list_after(make_template, "/link_templates"),
    ("get", "/link_templates", 400): lambda client: client.get("/link_templates", {"offset": -1}),
    **refusals("GET", "/link_templates", "/link_templates", 120),
    ("get", TEMPLATE, 200): on_template("GET"),
    **refusals("GET", "/link_templates/x", TEMPLATE, 120),
    ("delete", TEMPLATE, 200): on_template("DELETE"),
    **refusals("DELETE", "/link_templates/x", TEMPLATE, 60),
}


WAITLIST = "/waitlist/fiat"
INES = {"email": "ines@halden.example", "company": "Halden", "monthly_volume": "5"}


def join_twice(client: ApiClient) -> Answer:
    client.post(WAITLIST, INES)
    return client.post(WAITLIST, INES)


WAITLISTS: dict[Case, Send] = {
    ("post", WAITLIST, 201): lambda client: client.post(WAITLIST, INES),
    ("post", WAITLIST, 200): join_twice,
    ("post", WAITLIST, 409): used_key(WAITLIST, INES),
    **refusals("POST", WAITLIST, WAITLIST, 10),
    **body_refusals("POST", WAITLIST, lambda client: WAITLIST),
}


SUMMARY, TRANSACTIONS = "/reports/summary", "/reports/transactions"
SETTLEMENTS = "/reports/settlements"


def summary_of_a_payment(client: ApiClient) -> Answer:
    read_paid(client)
    # The clock stands still, and `to` is exclusive.
    answer = client.get(SUMMARY, {"to": "2026-11-21"})
    assert answer.body["by_chain"]
    return answer


def transactions_of_a_payment(client: ApiClient) -> Answer:
    read_paid(client)
    answer = client.get(TRANSACTIONS)
    assert answer.body["data"]
    return answer


def settlements_of_a_merchant(client: ApiClient) -> Answer:
    assert client.merchant is not None
    make_settlement(client.merchant, created_at=NOON, settled_at=NOON)
    answer = client.get(SETTLEMENTS)
    assert answer.body["data"]
    return answer


def disruptions_of_a_failing_endpoint(client: ApiClient) -> Answer:
    assert client.merchant is not None
    make_endpoint(client.merchant, "https://shop.example/hook", consecutive_failures=5, failing_since=NOON)
    answer = client.get("/disruptions")
    assert [one["kind"] for one in answer.body["data"]] == ["endpoint_failing"]
    return answer


REPORTS: dict[Case, Send] = {
    ("get", "/disruptions", 200): disruptions_of_a_failing_endpoint,
    **refusals("GET", "/disruptions", "/disruptions", 60),
    ("get", SUMMARY, 200): summary_of_a_payment,
    ("get", SUMMARY, 400): lambda client: client.get(SUMMARY, {"from": "x"}),
    **refusals("GET", SUMMARY, SUMMARY, 30),
    ("get", TRANSACTIONS, 200): transactions_of_a_payment,
    ("get", TRANSACTIONS, 400): lambda client: client.get(TRANSACTIONS, {"direction": "up"}),
    **refusals("GET", TRANSACTIONS, TRANSACTIONS, 30),
    ("get", SETTLEMENTS, 200): settlements_of_a_merchant,
    ("get", SETTLEMENTS, 400): lambda client: client.get(SETTLEMENTS, {"from": "x"}),
    **refusals("GET", SETTLEMENTS, SETTLEMENTS, 30),
}


INBOX, INBOX_ITEM = "/inbox", "/inbox/{item_id}"
TRANSACTION = "/transactions/{tx_hash}"
NOWHERE = f"/transactions/0x{'5a' * 32}"


def inbox_of_a_payment_too_many(client: ApiClient) -> Answer:
    checkout_id = client.created(order_ref="order-1001")["id"]
    for _ in range(2):
        pay(checkout_id)
    answer = client.get(INBOX, {"status": "open"})
    assert answer.body["data"]
    return answer


def item_of_a_payment_too_many(client: ApiClient) -> Answer:
    [item] = inbox_of_a_payment_too_many(client).body["data"]
    return client.get(f"/inbox/{item['id']}")


def transaction_of_a_payment(client: ApiClient) -> Answer:
    checkout_id = client.created()["id"]
    return client.get(f"/transactions/{pay(checkout_id).tx_hash}")


INBOXES: dict[Case, Send] = {
    ("get", INBOX, 200): inbox_of_a_payment_too_many,
    ("get", INBOX, 400): lambda client: client.get(INBOX, {"status": "x"}),
    **refusals("GET", INBOX, INBOX, 60),
    ("get", INBOX_ITEM, 200): item_of_a_payment_too_many,
    **refusals("GET", "/inbox/x", INBOX_ITEM, 60),
    **refusals("GET", "/transactions/x", TRANSACTION, 30),
    ("get", TRANSACTION, 200): transaction_of_a_payment,
    ("get", TRANSACTION, 400): lambda client: client.get("/transactions/x"),
    ("get", TRANSACTION, 404): lambda client: client_of().get(NOWHERE),
    ("get", TRANSACTION, 503): lambda client: client.get(NOWHERE),
}


PROVOKED: dict[Case, Callable[[ApiClient], Answer]] = {
    ("post", "/checkouts", 201): lambda client: client.create(**NEW_CHECKOUT),
    ("post", "/checkouts", 200): repeat,
    ("post", "/checkouts", 400): lambda client: client.create(amount="x"),
    ("post", "/checkouts", 401): nobody("POST", "/checkouts"),
    ("post", "/checkouts", 409): lambda client: client_of(mode=Mode.LIVE).create(),
    ("post", "/checkouts", 413): big("/checkouts"),
    ("post", "/checkouts", 415): plain("/checkouts"),
    ("post", "/checkouts", 429): limited("POST", "/checkouts", 60),
    ("get", "/checkouts", 200): list_paid,
    ("get", "/checkouts", 400): lambda client: client.get("/checkouts", {"limit": 0}),
    ("get", "/checkouts", 401): nobody("GET", "/checkouts"),
    ("get", "/checkouts", 429): limited("GET", "/checkouts", 30),
    ("get", ITEM, 200): read_paid,
    ("get", ITEM, 401): nobody("GET", "/checkouts/x"),
    ("get", ITEM, 404): lambda client: client.get("/checkouts/x"),
    ("get", ITEM, 429): limited("GET", "/checkouts/x", 120),
    ("post", OPTIONS, 200): choose,
    ("post", OPTIONS, 400): lambda client: choose(client, body={}),
    ("post", OPTIONS, 401): nobody("POST", "/checkouts/x/options"),
    ("post", OPTIONS, 404): lambda client: client.post("/checkouts/x/options", CHOICE),
    ("post", OPTIONS, 409): choose_after_payment,
    ("post", OPTIONS, 413): lambda client: choose(client, body=b" " * (256 * 1024 + 1)),
    ("post", OPTIONS, 415): lambda client: choose(client, content_type="text/plain"),
    ("post", OPTIONS, 429): limited("POST", "/checkouts/x/options", 60),
    ("post", CANCEL, 200): cancel_unpaid,
    ("post", CANCEL, 409): cancel_paid,
    **refusals("POST", "/checkouts/x/cancel", CANCEL, 60),
    ("get", RECEIPT, 200): receipt_of_paid,
    ("get", RECEIPT, 409): lambda client: client.get(f"/checkouts/{client.created()['id']}/receipt"),
    **refusals("GET", "/checkouts/x/receipt", RECEIPT, 60),
    ("post", RELEASE, 200): release_paid,
    ("post", RELEASE, 409): release_unpaid,
    **refusals("POST", "/checkouts/x/release", RELEASE, 60),
    ("post", ADVANCE, 200): lambda client: advance(client, {"steps": 2}),
    ("post", ADVANCE, 400): lambda client: advance(client, {"steps": 0}),
    ("post", ADVANCE, 409): advance_ended,
    ("post", ADVANCE, 413): lambda client: advance(client, b" " * (256 * 1024 + 1)),
    ("post", ADVANCE, 415): lambda client: advance(client, b"x", content_type="text/plain"),
    **refusals("POST", "/test/checkouts/x/advance", ADVANCE, 60),
    ("get", "/chains", 200): lambda client: client.get("/chains"),
    ("get", "/chains", 429): limited("GET", "/chains", 60),
    ("get", "/currencies", 200): lambda client: client.get("/currencies"),
    ("get", "/currencies", 429): limited("GET", "/currencies", 60),
    ("get", "/events", 200): events_of_a_payment,
    ("get", "/events", 400): lambda client: client.get("/events", {"after": "x"}),
    ("get", "/events", 401): nobody("GET", "/events"),
    ("get", "/events", 429): limited("GET", "/events", 60),
    ("get", "/events/{event_id}", 200): event_of_a_payment,
    **refusals("GET", "/events/x", "/events/{event_id}", 60),
    **AUTHORIZATIONS,
    **LINKS,
    **WAITLISTS,
    **REPORTS,
    **INBOXES,
    **MACHINES,
    **WALLETS,
    **HOOKS,
    **TILLS,
    **PAYOUTS,
    ("get", "/key", 200): lambda client: client.get("/key"),
    **refusals("GET", "/key", "/key", 60),
}
PROVOKED |= {
    (method, path, 403): elsewhere(method.upper(), path) for method, path, status in [*PROVOKED] if status == 401
}
# Whatever a POST takes, it refuses an Idempotency-Key that is too long.
PROVOKED = {(method, path, 400): bad_key(path) for method, path, _ in PROVOKED if method == "post"} | PROVOKED


# With them on, these answers have more than their examples. They fit the document as well.
ADDED_TO_BY_NEW_SETTINGS: Final = {("get", "/currencies", 200), ("get", CONFIG, 200)}


def test_every_response_of_the_document_is_provoked(document: Document) -> None:
    promised = {
        (method, path.removeprefix("/api/v1"), int(status))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for status in operation["responses"]
    }
    # A late body (408) and no room for one (503) never reach Django: tests/faults/test_unfinished_requests.py and
    # tests/gateway/server/test_front.py have them.
    by_the_server = {
        (method, path, status) for method, path, refused in PROVOKED for status in (408, 503) if refused == 413
    }
    # Any request may meet a fault of ours, or a server without room.
    by_chance = {(method, path, status) for method, path, _ in PROVOKED for status in (500, 503)}
    assert promised == set(PROVOKED) | by_the_server | by_chance


@pytest.mark.parametrize("path", sorted({path for _, path, _ in PROVOKED}))
def test_what_comes_back_is_what_the_document_says(seller: ApiClient, document: Document, path: str) -> None:
    for one in PROVOKED:
        if one[1] == path:
            with undone(*one):
                check_answer(seller, document, one)


def check_answer(client: ApiClient, document: Document, case: Case) -> None:
    """Provoke an answer, and look whether the document has it."""
    method, path, status = case
    answer = PROVOKED[case](client)
    assert answer.status == status
    operation = document["paths"]["/api/v1" + path][method]
    if status == 204:
        assert "content" not in operation["responses"]["204"]
        return
    content = operation["responses"][str(status)]["content"]
    media_type = answer.headers["Content-Type"]
    if media_type == "application/json":
        schema = content[media_type]["schema"]
        validator_of(document, schema).validate(answer.body)
        is_last = status == max(int(s) for s in operation["responses"] if s < "3")
        if NEW_SETTINGS not in os.environ or case not in ADDED_TO_BY_NEW_SETTINGS:
            check_example(f"{method.upper()} {path}", answer, with_request=is_last)
    else:
        assert list(content) == [media_type]


def validator_of(document: Document, schema: Document) -> Draft202012Validator:
    """A validator that also refuses fields the document does not name."""
    components = {name: closed(component) for name, component in document["components"]["schemas"].items()}
    root = {"components": {"schemas": components}} | schema
    return Draft202012Validator(root, format_checker=FormatChecker())


def closed(component: Document) -> Document:
    if component.get("type") == "object":
        return component | {"additionalProperties": False}
    return component


def test_the_validation_sees_a_missing_and_an_unknown_field(seller: ApiClient, document: Document) -> None:
    schema = {"$ref": "#/components/schemas/CreatedCheckout"}
    validator = validator_of(document, schema)
    body = seller.created()
    assert validator.is_valid(body)
    assert not validator.is_valid(body | {"surprise": 1})
    assert not validator.is_valid({k: v for k, v in body.items() if k != "references"})
    assert not validator.is_valid(body | {"amount": 25})


def test_the_described_request_has_the_fields_that_are_read(document: Document) -> None:
    fields = document["components"]["schemas"]["NewCheckout"]
    assert set(fields["properties"]) == {
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
        "escrow",
    }
    assert set(fields["required"]) == {"amount", "currency"}


def test_whatever_narrows_a_summary_narrows_its_lines(document: Document) -> None:
    summary, lines = (
        {parameter["name"] for parameter in document["paths"][f"/api/v1{path}"]["get"]["parameters"]}
        for path in (SUMMARY, TRANSACTIONS)
    )
    assert summary <= lines


def test_the_document_needs_no_key_and_names_the_release(document: Document, settings: Any) -> None:
    assert document["info"]["version"] == settings.SERVICE_VERSION
    assert "openapi.json" in api_routes()


def test_tokens_of_other_currencies_are_described_where_they_are_taken(
    seller: ApiClient, document: Document, settings: Any
) -> None:
    validator = validator_of(document, {"$ref": "#/components/schemas/X402Config"})
    # They are taken already where every new setting is on.
    settings.CHAIN_SETTINGS = {name: told for name, told in settings.CHAIN_SETTINGS.items() if name != "BASE_TOKENS"}
    forget()
    before = seller.get("/x402/config").body
    assert "otherAssets" not in before
    take_euros(settings)
    told = seller.get("/x402/config").body
    assert {name: value for name, value in told.items() if name != "otherAssets"} == before
    assert list(told["otherAssets"]) == ["base"]
    validator.validate(told)
    [euro] = told["otherAssets"]["base"]
    assert not validator.is_valid(told | {"otherAssets": {"base": [euro | {"surprise": 1}]}})
