"""Queries of the facade: invoices by id and as a list, whether an expired one was paid late, and for whom a key was made."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import QueryDict

from accounts.models import ApiKey, Merchant
from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.rows import CheckoutRow
from checkouts.selectors import checkout_objects, checkout_row, checkout_rows, of_orders
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core import json
from gateway.core.api.fields import check_characters, refuse
from greenfield.bodies import SHOPWARES_MARK, read_moment
from greenfield.models import Connection, InvoiceOptions
from greenfield.objects import invoice_object, method_objects

_REVERSED: Final = Q(status=CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
_PAID_LATE: Final = Q(
    Exists(Checkout.objects.filter(~_REVERSED, replaces=OuterRef("pk"), status=CheckoutStatus.COMPLETED))
)
_PAYS: Final = Q(status__in=[CheckoutStatus.PROCESSING, CheckoutStatus.COMPLETED]) & ~_REVERSED | _PAID_LATE
_STATUSES: Final[Mapping[str, Q]] = {
    "New": Q(status__in=[CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID]),
    "Processing": Q(status=CheckoutStatus.PROCESSING),
    "Settled": Q(status=CheckoutStatus.COMPLETED) & ~_REVERSED,
    "Expired": Q(status=CheckoutStatus.EXPIRED) & (Q(cancelled_at=None) | _PAID_LATE),
    "Invalid": Q(cancelled_at__isnull=False) & ~_PAID_LATE | _REVERSED,
}
# BTCPay Server has no limit. A list that is cut silently would be taken for the whole one, so more is refused.
_MOST: Final = 100
_MOST_NAMED: Final = 100
# No list is this deep.
_MOST_SKIPPED: Final = 100_000


def invoice(merchant: Merchant, mode: Mode, invoice_id: str) -> dict[str, Any]:
    """Return one invoice. Raises NotFoundError."""
    [found] = _invoices(merchant, [checkout_row(merchant.pk, mode, invoice_id)])
    return found


def invoice_methods(merchant: Merchant, mode: Mode, invoice_id: str) -> list[dict[str, Any]]:
    """Return the payment methods of an invoice; of one that was paid late, by the checkout that took its money. Raises NotFoundError."""
    row = checkout_row(merchant.pk, mode, invoice_id)
    [checkout] = checkout_objects([_payer(merchant, mode, row)])
    return method_objects(checkout, row.offers)


def paid_checkout(merchant: Merchant, mode: Mode, invoice_id: str) -> dict[str, Any]:
    """Return our API's object of the checkout that has an invoice's money: its own, or the one that took its late money.

    Raises NotFoundError.
    """
    [checkout] = checkout_objects([_payer(merchant, mode, checkout_row(merchant.pk, mode, invoice_id))])
    return checkout


def invoice_page(merchant: Merchant, mode: Mode, query: QueryDict) -> list[dict[str, Any]]:
    """Return the invoices that a query string asks for, newest first. Raises InvalidRequestError."""
    wanted = _wanted(merchant, mode, query)
    skip, take = _whole(query, "skip", 0, _MOST_SKIPPED), _whole(query, "take", _MOST, _MOST)
    page = wanted.order_by("-pk")[skip : skip + take]
    return _invoices(merchant, checkout_rows(merchant.pk, mode, list(page.values_list("public_id", flat=True))))


def of_facade(public_id: str) -> Checkout | None:
    """Return a checkout that the facade made, its merchant loaded; None for any other: their pages are not found by their ids."""
    found = InvoiceOptions.objects.filter(checkout__public_id=public_id).select_related("checkout__merchant").first()
    return found.checkout if found else None


def shop_of(checkout: Checkout) -> str:
    """Return the kind of shop that a checkout was made for: "Shopware" or "shop"; "" if the facade did not make it."""
    if not InvoiceOptions.objects.filter(checkout=checkout.pk).exists():
        return ""
    return "Shopware" if isinstance(json.loads(checkout.metadata.encode()).get(SHOPWARES_MARK), str) else "shop"


def paid_by_another_invoice(checkouts: Sequence[Checkout]) -> set[int]:
    """Return the keys of those checkouts, of one merchant and mode, whose order another invoice at the same price paid or is paying."""
    named = [one for one in checkouts if one.order_ref]
    made = (
        InvoiceOptions.objects.filter(checkout__in=[one.pk for one in named])
        if named
        else InvoiceOptions.objects.none()
    )
    ours = set(made.values_list("checkout", flat=True))
    asked = [one for one in named if one.pk in ours]
    if not asked:
        return set()
    first = asked[0]
    tries = of_orders(first.merchant_id, Mode(first.mode), [one.order_ref for one in asked])
    payers: dict[tuple[str, str, Decimal], set[int]] = defaultdict(set)
    for one in tries.filter(_PAYS, greenfield__isnull=False):
        payers[_order_of(one)].add(one.pk)
    return {one.pk for one in asked if payers[_order_of(one)] - {one.pk}}


def _order_of(checkout: Checkout) -> tuple[str, str, Decimal]:
    return checkout.order_ref, checkout.currency, checkout.asked_amount


def connection_of(key_id: str) -> Connection | None:
    """Return for whom a key was made on the consent page, by the key's public id; of a rotated key, for whom the first one was.

    None for a key that a person made.
    """
    key = ApiKey.objects.filter(public_id=key_id).first()
    while key is not None:
        if found := Connection.objects.filter(api_key=key).first():
            return found
        key = ApiKey.objects.filter(replaced_by=key).first()
    return None


def _payer(merchant: Merchant, mode: Mode, row: CheckoutRow) -> CheckoutRow:
    return checkout_row(merchant.pk, mode, row.replaced_by) if row.replaced_by in _taken_late([row]) else row


def _invoices(merchant: Merchant, rows: Sequence[CheckoutRow]) -> list[dict[str, Any]]:
    sent = dict(InvoiceOptions.objects.filter(checkout__in=[row.id for row in rows]).values_list("checkout", "sent"))
    late = _taken_late([row for row in rows if row.replaced_by])
    return [
        invoice_object(
            checkout,
            store_id=merchant.public_id,
            offers=row.offers,
            sent=sent.get(row.id, {}),
            is_paid_late=row.replaced_by in late,
        )
        for row, checkout in zip(rows, checkout_objects(rows), strict=True)
    ]


def _taken_late(rows: Sequence[CheckoutRow]) -> set[str]:
    """Return the ids of those successors that completed with the late money of rows, and still have it."""
    if not rows:
        return set()
    paid = Checkout.objects.filter(replaces__in=[row.id for row in rows], status=CheckoutStatus.COMPLETED)
    return set(paid.exclude(exception=CheckoutException.REVERSED).values_list("public_id", flat=True))


def _wanted(merchant: Merchant, mode: Mode, query: QueryDict) -> "QuerySet[Checkout]":
    orders = _named(query, "orderId")
    mine = of_orders(merchant.pk, mode, orders) if orders else Checkout.objects.filter(merchant=merchant.pk, mode=mode)
    if statuses := _named(query, "status"):
        if unknown := [name for name in statuses if name not in _STATUSES]:
            raise refuse("status", f"{unknown[0]} is none of {', '.join(_STATUSES)}.")
        any_of = Q()
        for name in statuses:
            any_of |= _STATUSES[name]
        mine = mine.filter(any_of)
    for name, lookup in (("startDate", "created_at__gte"), ("endDate", "created_at__lte")):
        if moment := _moment(query, name):
            mine = mine.filter(**{lookup: moment})
    if text := query.get("textSearch"):
        check_characters(text, "textSearch")
        mine = mine.filter(Q(public_id=text) | Q(pk__in=of_orders(merchant.pk, mode, [text])))
    return mine


def _moment(query: QueryDict, name: str) -> datetime | None:
    return read_moment({name: query.get(name)}, name)


def _named(query: QueryDict, name: str) -> list[str]:
    """Return the values of a repeated parameter; empty ones are left out."""
    found = [text for text in query.getlist(name) if text]
    if len(found) > _MOST_NAMED:
        raise refuse(name, f"At most {_MOST_NAMED} of {name}.")
    for text in found:
        check_characters(text, name)
    return found


def _whole(query: QueryDict, name: str, usual: int, most: int) -> int:
    text = query.get(name) or str(usual)
    if not text.isascii() or not text.isdigit() or len(text) > len(str(most)) or int(text) > most:
        raise refuse(name, f"{name} must be a whole number up to {most}.")
    return int(text)
