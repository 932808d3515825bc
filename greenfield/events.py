"""What plugins are told: the bodies of webhooks, written from our own events when they are sent. No database.

A body has no number by which a plugin could find the newest, and some plugins believe the type alone. So an event that a later one
contradicts has no body any more: its next try would come after what happened since.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from django.conf import settings

from gateway.core import json
from greenfield.methods import method_id
from greenfield.objects import is_overpaid, is_partly_paid, payment_object, seconds
from webhooks.delivery.claims import Claimed

# An event holds metadata a level deeper than the request that brought them.
_DEEPEST: Final = json.MAX_DEPTH + 1

Facts = dict[str, Any]
Told = tuple[str, str, Facts]
"""A type of BTCPay Server's, the id of the invoice, and what the type adds to a body."""

SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "InvoiceProcessing": ("checkout.processing",),
    # Late money is told of as a payment of the expired invoice, once another checkout took it.
    "InvoicePaymentSettled": ("checkout.transfer_confirmed", "checkout.completed", "checkout.restored"),
    "InvoiceSettled": ("checkout.completed", "checkout.restored"),
    "InvoiceExpired": ("checkout.expired",),
    "InvoiceInvalid": ("checkout.expired", "checkout.reversed"),
}
"""Our types of event behind each of BTCPay Server's. Types that are not here are never sent."""

_OVERTAKEN: Final[Mapping[str, frozenset[str]]] = {
    "checkout.processing": frozenset({"checkout.completed", "checkout.expired"}),
    "checkout.completed": frozenset({"checkout.reversed"}),
    "checkout.reversed": frozenset({"checkout.restored"}),
    "checkout.restored": frozenset({"checkout.reversed"}),
}
"""The types of a checkout's later events that contradict one."""

_ENDED: Final = frozenset({"checkout.completed", "checkout.expired"})


def needed_events(types: Iterable[str] | None) -> list[str]:
    """Return our types of event for what a plugin chose; None stands for everything."""
    chosen = SOURCES if types is None else [name for name in types if name in SOURCES]
    wanted = {source for name in chosen for source in SOURCES[name]}
    return [name for name in settings.WEBHOOK_EVENT_TYPES if name in wanted]


def dialect_of(types: Iterable[str] | None, *, store_id: str, makes_orders: bool) -> dict[str, Any]:
    """Return what `body_of` has to know of an endpoint: its store, and the types that it chose; None stands for everything.

    With `makes_orders` its plugin may make an order of `InvoiceProcessing`, and reads the invoice first.
    """
    return {"store": store_id, "events": None if types is None else list(types), "makes_orders": makes_orders}


def may_make_orders(dialect: Mapping[str, Any] | None) -> bool:
    """Return whether an endpoint's plugin may make an order of `InvoiceProcessing`."""
    stored = dialect or {}
    # Endpoints from before this was stored say nothing of it. Of those plugins, the one that makes orders takes everything.
    return bool(stored.get("makes_orders", bool(stored) and stored.get("events") is None))


def body_of(claimed: Claimed) -> bytes | None:
    """Return the body of a delivery; None for an event that a plugin does not get or did not choose, or that was overtaken.

    Each try of a delivery has the same `deliveryId`, and says the same.
    """
    event = json.loads(claimed.body, deepest=_DEEPEST)
    dialect = json.loads((claimed.dialect or "{}").encode())
    tell = _TELLERS.get(event["type"])
    told = tell(event["data"]) if tell else None
    if told is None:
        return None
    name, invoice_id, facts = told
    chosen = dialect.get("events")
    if chosen is not None and name not in chosen:
        return None
    if not _contradicting(event["type"], dialect, is_repeated=claimed.tries > 0).isdisjoint(claimed.later or ()):
        return None
    return json.dumps(
        {
            "deliveryId": claimed.delivery_id,
            "webhookId": claimed.listed_id,
            "originalDeliveryId": claimed.delivery_id,
            "isRedelivery": claimed.tries > 0,
            "type": name,
            "timestamp": seconds(event["created_at"]),
            "storeId": dialect.get("store"),
            "invoiceId": invoice_id,
            "metadata": event["data"]["metadata"],
            **facts,
        }
    )


def _contradicting(kind: str, dialect: Mapping[str, Any], *, is_repeated: bool) -> frozenset[str]:
    """Return the types of later events after which an event is not told to an endpoint any more."""
    found = _OVERTAKEN.get(kind, frozenset())
    # Others believe the type: Shopware's plugin would put a paid order back in progress.
    if may_make_orders(dialect):
        return found - {"checkout.completed"}
    # OpenCart's plugin puts a settled order back to paid. The first try comes before what follows from the payment.
    if kind == "checkout.transfer_confirmed" and is_repeated and dialect.get("events") is not None:
        return found | _ENDED
    return found


def _processing(checkout: Facts) -> Told | None:
    # A successor's money was late for an invoice that expired.
    if checkout["replaces"]:
        return None
    return "InvoiceProcessing", checkout["id"], {"overPaid": is_overpaid(checkout)}


def _transfer_confirmed(checkout: Facts) -> Told | None:
    if checkout["replaces"]:
        return None
    changed = checkout["changed_transfer"]
    transfer = next(one for one in checkout["transfers"] if all(one[name] == changed[name] for name in changed))
    return "InvoicePaymentSettled", checkout["id"], _payment(transfer, is_late=False)


def _completed(checkout: Facts) -> Told | None:
    if not checkout["replaces"]:
        return "InvoiceSettled", checkout["id"], {"manuallyMarked": False, "overPaid": is_overpaid(checkout)}
    transfers = checkout["transfers"]
    if not transfers:
        return None
    return "InvoicePaymentSettled", checkout["replaces"], _payment(transfers[-1], is_late=True)


def _reversed(checkout: Facts) -> Told | None:
    # BTCPay Server says the same of a payment that was not confirmed. A successor's money is that of the invoice that expired.
    return "InvoiceInvalid", checkout["replaces"] or checkout["id"], {"manuallyMarked": False}


def _expired(checkout: Facts) -> Told | None:
    if checkout["cancelled"]:
        return "InvoiceInvalid", checkout["id"], {"manuallyMarked": True}
    return "InvoiceExpired", checkout["id"], {"partiallyPaid": is_partly_paid(checkout)}


def _payment(transfer: Mapping[str, Any], *, is_late: bool) -> Facts:
    return {
        "afterExpiration": is_late,
        "paymentMethodId": method_id(transfer["chain"], transfer["token"]),
        "payment": payment_object(transfer),
    }


_TELLERS: Final[Mapping[str, Callable[[Facts], Told | None]]] = {
    "checkout.processing": _processing,
    "checkout.transfer_confirmed": _transfer_confirmed,
    "checkout.completed": _completed,
    "checkout.reversed": _reversed,
    # All of it is there again, as when it completed.
    "checkout.restored": _completed,
    "checkout.expired": _expired,
}
