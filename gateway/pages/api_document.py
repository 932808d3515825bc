"""The OpenAPI document, built once per process, with tags, webhooks and examples beside its operations."""

import threading
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiWebhook, extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request

from checkouts.inbox.serializers import InboxItem
from checkouts.schemas import Checkout
from gateway.core import json
from gateway.core.api.idempotency import HEADER, REPLAYED
from gateway.core.api.openapi import KEEPS_NONE
from gateway.core.api.rate_limits import Limit
from gateway.core.api.views import ApiView
from payouts.serializers import Payout
from reports.serializers import ActiveDisruption, EndedDisruption
from webhooks.api import EventBody
from x402.serializers import X402Payment

# Written by tests/contract/test_examples.py, from requests that it sends and answers that it gets.
_EXAMPLES = Path(__file__).with_name("api_examples.json")
_METHODS = {"get", "post", "put", "patch", "delete"}

TAGS = [
    {"name": "Checkouts", "description": "Requests for one payment each, with a hosted page."},
    {"name": "Payment links", "description": "Addresses to share. Each payment through one is a checkout."},
    {
        "name": "Refunds and payouts",
        "description": "Money that you send from your own wallet. People approve and sign it.",
    },
    {"name": "Terminals", "description": "Devices that sell at a counter, and what they sold."},
    {"name": "Inbox", "description": "Money that no rule could credit. People decide about it in the dashboard."},
    {"name": "Transactions", "description": "What became of a transaction, by its hash."},
    {"name": "Events", "description": "What was sent to webhooks, to catch up."},
    {"name": "Webhooks", "description": "What Florin sends to your server."},
    {"name": "Webhook endpoints", "description": "Where Florin sends events, beside the default endpoint."},
    {"name": "Webhook deliveries", "description": "Whether each event arrived, and what your server answered."},
    {"name": "x402", "description": "Verify and settle payments by machines for a paid API."},
    {"name": "Reports", "description": "Totals and transactions, as JSON or CSV."},
    {"name": "Watched wallets", "description": "Balances and transfers of addresses that you name."},
    {"name": "Chains", "description": "Supported chains, tokens and their status."},
    {"name": "Disruptions", "description": "What disrupts your payments now, and what to do."},
    {"name": "Keys", "description": "What the key of a request may do."},
    {"name": "Waitlist", "description": "Register interest in card payments, which do not exist yet."},
]

_MEDIA_TYPE = "application/vnd.oai.openapi+json"
_building = threading.Lock()


class CheckoutEvent(EventBody):
    """What is sent about a checkout."""

    data_ = Checkout()


class ChangedTransfer(s.Serializer[Any]):
    """The transfer that an event is about, one of the checkout's `transfers`."""

    chain = s.CharField()
    tx_hash = s.CharField()
    position = s.IntegerField()


class ConfirmedCheckout(Checkout):
    """A checkout with the transfer that became final."""

    changed_transfer = ChangedTransfer()


class CheckoutTransferEvent(EventBody):
    """What is sent about a transfer of a checkout."""

    data_ = ConfirmedCheckout()


class InboxEvent(EventBody):
    """What is sent about an inbox item. `checkout_id` is the item's id."""

    data_ = InboxItem()


class PayoutEvent(EventBody):
    """What is sent about a refund or payout. `checkout_id` is the checkout that a refund gives back, or empty."""

    data_ = Payout()


class X402PaymentEvent(EventBody):
    """What is sent about a payment by a machine. `checkout_id` is the payment's id."""

    data_ = X402Payment()


class GatewayRestore(s.Serializer[Any]):
    """The time whose changes a restore of the database may have lost."""

    lost_from = s.DateTimeField()
    restored_at = s.DateTimeField()


class GatewayRestoredEvent(EventBody):
    """What is sent after a restore. `checkout_id` is empty."""

    data_ = GatewayRestore()


class DisruptionEvent(EventBody):
    """What is sent about a disruption of your payments. `checkout_id` is empty."""

    data_ = ActiveDisruption()


class RecoveryEvent(EventBody):
    """What is sent when a disruption is over. `checkout_id` is empty."""

    data_ = EndedDisruption()


_OPT_IN = "Only listed endpoints that chose it receive it."

_DESCRIPTIONS: dict[str, tuple[type[EventBody], str, str]] = {
    "checkout.completed": (CheckoutEvent, "A checkout was paid", "The payment is final. Deliver the order."),
    "checkout.expired": (
        CheckoutEvent,
        "A checkout expired",
        "It was not paid in time, or you cancelled it. Then `cancelled` is true.",
    ),
    "checkout.underpaid": (
        CheckoutEvent,
        "A checkout was underpaid",
        "The transfers are final and too small. Sent again after each top-up that is still too small.",
    ),
    "checkout.reversed": (
        CheckoutEvent,
        "A completed checkout's payment was reversed",
        "A reorg removed a transfer after completion. Hold the order. Sent again if a further transfer is removed.",
    ),
    "checkout.restored": (
        CheckoutEvent,
        "A reversed checkout is paid again",
        "All its money is back and final. You can deliver.",
    ),
    "x402.payment.reversed": (
        X402PaymentEvent,
        "An x402 payment was reversed",
        "A reorg removed the transaction, or it never became final.",
    ),
    "x402.payment.returned": (
        X402PaymentEvent,
        "A reversed x402 payment returned",
        "The transaction is on the chain again.",
    ),
    "gateway.restored": (
        GatewayRestoredEvent,
        "The gateway was restored from a backup",
        "What happened in the time named may be missing. Compare your orders with GET /checkouts.",
    ),
    "checkout.processing": (
        CheckoutEvent,
        "Enough money was seen for a checkout",
        f"It may not be final: do not deliver. Written before each `checkout.completed`, but may arrive later. Again after a reorg. {_OPT_IN}",
    ),
    "checkout.transfer_confirmed": (
        CheckoutTransferEvent,
        "A transfer of a checkout is final",
        f"Sent once for each credited transfer, before `checkout.completed` if it completes the checkout. {_OPT_IN}",
    ),
    "inbox.opened": (
        InboxEvent,
        "Money waits for a person",
        f"No rule could credit it, or a reorg removed it. Sent again if it is removed again. {_OPT_IN}",
    ),
    "inbox.closed": (InboxEvent, "An inbox item is closed", f"Its `outcome` says how. {_OPT_IN}"),
    **{
        f"{kind}.{what}": (PayoutEvent, f"A {kind} {summary}", f"{description} {_OPT_IN}")
        for kind in ("refund", "payout")
        for what, summary, description in (
            (
                "claimed",
                "has an address",
                "The recipient gave one on the claim page, or changed it. People approve it next.",
            ),
            (
                "approved",
                "is approved",
                "Your wallet pays it next. Sent again if its address changed and was approved.",
            ),
            (
                "paid",
                "is paid",
                "The chain has paid it for good. Sent again if a reorg took that back and it is final again.",
            ),
            (
                "reversed",
                "was reversed",
                "A reorg removed the transaction that paid it. Florin never pays it again by itself.",
            ),
            ("ended", "ended unpaid", "It is `cancelled`, or `expired` because nobody gave an address in time."),
        )
    },
    "system.disrupted": (
        DisruptionEvent,
        "A chain or its gas disrupts your payments",
        f"It has lasted a minute, on a chain where you receive. Sent again if it becomes worse. In live mode only. {_OPT_IN}",
    ),
    "system.recovered": (
        RecoveryEvent,
        "A disruption of your payments is over",
        f"Sent once after its `system.disrupted`, to those who receive that. {_OPT_IN}",
    ),
}

WEBHOOKS = [
    OpenApiWebhook(
        name,
        extend_schema(
            operation_id=name,
            summary=summary,
            description=f"{description} Verify `X-Service-Signature` before you read the body.",
            tags=["Webhooks"],
            request=body,
            responses={"2XX": None},
        ),
    )
    for name, (body, summary, description) in _DESCRIPTIONS.items()
]

_SERVER_ERRORS = {
    "500": "A fault of ours. Try again: with the same `order_ref` or `Idempotency-Key` nothing happens twice.",
    "503": "A chain does not answer, a price has no agreed rate, or the server is overloaded. Try again.",
}
_KEY_ERRORS = {
    "400": "The `Idempotency-Key` has no or too many characters.",
    "409": "`duplicate`: the `Idempotency-Key` was used for another request.",
}


def _header(kind: str, description: str, example: object) -> dict[str, Any]:
    return {"description": description, "required": True, "schema": {"type": kind}, "example": example}


_HEADERS = {
    "X-RateLimit-Limit": _header("integer", "Requests allowed in the window.", 60),
    "X-RateLimit-Remaining": _header("integer", "Requests left in the window.", 59),
    "X-RateLimit-Reset": _header("integer", "The Unix time at which the window ends.", 1764158460),
    "X-Request-Id": _header("string", "Name it when you ask about a request.", "req_1f0c9b7a4e5d4c3b"),
    "X-Service-Version": _header("string", "The release that answered.", settings.SERVICE_VERSION),
    "Retry-After": _header("integer", "Wait for so many seconds.", 30),
    REPLAYED: _header(
        "string", "`true` if this is the answer that the `Idempotency-Key` got before; else absent.", "true"
    )
    | {"required": False},
}
_EVERYWHERE = [name for name in _HEADERS if name not in {"Retry-After", REPLAYED}]


def finish(result: dict[str, Any], **_others: Any) -> dict[str, Any]:
    """Add examples to a generated document, write null as a type, and name the public operations. A hook of drf-spectacular."""
    examples = json.loads(_EXAMPLES.read_bytes())
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            if method not in _METHODS:
                continue
            operation.setdefault("security", [])
            _add_server_answers(operation)
            found = examples.get(f"{method.upper()} {path.removeprefix('/api/v1')}", {})
            _add_examples(operation, found)
    for name, operations in result["webhooks"].items():
        operations["post"]["security"] = []
        _add_examples(operations["post"], examples.get(name, {}))
    result["tags"] = TAGS
    result["components"]["headers"] = _HEADERS
    for name in ("Blank", "Null"):
        result["components"]["schemas"].pop(name, None)
    finished: dict[str, Any] = _with_null_types(result)
    return finished


def _add_server_answers(operation: dict[str, Any]) -> None:
    """Describe the errors that any request, or any with an Idempotency-Key, may get, and the headers of every answer."""
    answers = operation["responses"]
    keys = [each["description"] for each in operation.get("parameters", []) if each["name"] == HEADER]
    # Where no answer is kept, none is replayed, and no key was used before.
    is_repeatable = bool(keys) and KEEPS_NONE not in keys
    told = _KEY_ERRORS if is_repeatable else {"400": _KEY_ERRORS["400"]} if keys else {}
    for status, description in (_SERVER_ERRORS | told).items():
        answers.setdefault(
            status,
            {
                "description": description,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}},
            },
        )
    if is_repeatable and answers["409"]["description"] != _KEY_ERRORS["409"]:
        answers["409"]["description"] += " " + _KEY_ERRORS["409"]
    operation["responses"] = answers = dict(sorted(answers.items()))
    for status, answer in answers.items():
        names = [*_EVERYWHERE, "Retry-After"] if status == "429" else _EVERYWHERE
        names = [*names, REPLAYED] if is_repeatable and status < "3" else names
        answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _add_examples(operation: dict[str, Any], found: dict[str, Any]) -> None:
    if "request" in found:
        operation["requestBody"]["content"]["application/json"]["example"] = found["request"]
    for status, body in found.get("answers", {}).items():
        operation["responses"][status]["content"]["application/json"]["example"] = body


def _with_null_types(part: Any) -> Any:
    """Return the part with `{"type": "null"}` for references to the components of empty choices."""
    if isinstance(part, list):
        kept = [each for each in part if each != {"$ref": "#/components/schemas/Blank"}]
        return [_with_null_types(each) for each in kept]
    if isinstance(part, dict):
        if part == {"$ref": "#/components/schemas/Null"}:
            return {"type": "null"}
        return {key: _with_null_types(value) for key, value in part.items()}
    return part


class OpenApiDocumentView(ApiView):
    """Serves the document to everybody, counted by the client's address."""

    key_required = False
    keyless_limit = Limit("openapi", 60)
    authentication_classes = ()

    @extend_schema(exclude=True)
    def get(self, _request: Request) -> HttpResponse:
        """Return the document as JSON."""
        # Held while it is built, so that parallel requests wait instead of building their own.
        with _building:
            body = document()
        return HttpResponse(body, content_type=_MEDIA_TYPE)


@cache
def document() -> bytes:
    """Return the document as JSON."""
    with translation.override("en"):
        generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
        return json.dumps(generator.get_schema(public=True))
