"""Makes invoices, one for an order at a time: a repeat finds the order's invoice, and a buyer who comes back later gets a new one."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.creation.forms import CURRENCY
from checkouts.creation.service import create_checkout
from checkouts.inputs import NewCheckout
from checkouts.models import Checkout
from checkouts.rows import AnyCheckout, CheckoutRow
from checkouts.selectors import keeping_money, of_orders
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError
from greenfield.bodies import SHOPWARES_MARK, NewInvoice
from greenfield.models import InvoiceOptions

# Each look finds what concurrent requests made since the one before.
_LOOKS: Final = 5
_WITH_MONEY: Final = (CheckoutStatus.PROCESSING, CheckoutStatus.UNDERPAID, CheckoutStatus.COMPLETED)


def create_invoice(merchant: Merchant, mode: Mode, wanted: NewInvoice, *, now: datetime) -> str:
    """Return the id of an order's invoice: the present one, or a new one where there is none or it expired or was cancelled unpaid.

    Identical concurrent calls return one. Its order, amount and currency identify it; without an order every call makes one. One that
    expired and whose money is here is returned as it is, because a person decides about that money. One that is not repeatable is
    new unless the order has money; while that is not final it is refused. Raises ConflictError (state_conflict, capacity_exhausted),
    InvalidRequestError where none of the payment methods can be offered now, and what `create_checkout` raises for a price in
    another currency than USD.
    """
    with transaction.atomic():
        key, public_id = _current(merchant, mode, wanted.checkout, now)
        InvoiceOptions.objects.bulk_create([InvoiceOptions(checkout_id=key, sent=wanted.sent)], ignore_conflicts=True)
    return public_id


def _current(merchant: Merchant, mode: Mode, wanted: NewCheckout, now: datetime) -> tuple[int, str]:
    """Return the key and the id of the checkout that is the order's now."""
    if not wanted.is_repeatable:
        return _another(merchant, mode, wanted, now)
    for _ in range(_LOOKS):
        tries = _tries(merchant, mode, wanted)
        newest = tries.order_by("-pk").first()
        present = _present(tries, newest)
        if present is not None and not _is_of_another(present, wanted):
            return present.pk, present.public_id
        # Of two requests that see the same one ended, the second gets what the first made: it has one renewal.
        row = _created(merchant, mode, replace(wanted, again_for=newest.public_id if newest else ""), now)
        if row.status != CheckoutStatus.EXPIRED and not _is_of_another(row, wanted):
            return row.id, row.public_id
    raise ConflictError("The same order is being changed elsewhere; try again.")


def _present(tries: QuerySet[Checkout], newest: Checkout | None) -> Checkout | None:
    """Return the newest of an order's checkouts, or another one that has the order's money; None where the newest expired unpaid."""
    if newest is None or newest.status not in {CheckoutStatus.PENDING, CheckoutStatus.EXPIRED}:
        return newest
    # Several are open at once where they are of several of Shopware's transactions.
    others = tries.filter(status__in=_WITH_MONEY).exclude(exception=CheckoutException.REVERSED)
    if paid := others.order_by("-pk").first():
        return paid
    return keeping_money(tries) if newest.status == CheckoutStatus.EXPIRED else newest


def _is_of_another(present: AnyCheckout, wanted: NewCheckout) -> bool:
    """Return whether an unpaid checkout is of another of Shopware's transactions: paying it would mark that one paid, not the order."""
    asked, its = (json.loads(text.encode()).get(SHOPWARES_MARK) for text in (wanted.metadata, present.metadata))
    is_unpaid = present.status == CheckoutStatus.PENDING and not present.amount_received
    return is_unpaid and isinstance(asked, str) and bool(asked != its)


def _another(merchant: Merchant, mode: Mode, wanted: NewCheckout, now: datetime) -> tuple[int, str]:
    """Return a new checkout of an order for which no money came; else the one that has it, if that is final. Raises ConflictError."""
    tries = _tries(merchant, mode, wanted)
    done = tries.filter(status=CheckoutStatus.COMPLETED).order_by("-pk")
    paid = done.exclude(exception=CheckoutException.REVERSED).first() or done.first() or keeping_money(tries)
    if paid is not None:
        return paid.pk, paid.public_id
    if tries.filter(status__in=(CheckoutStatus.PROCESSING, CheckoutStatus.UNDERPAID)).exists():
        raise ConflictError("Money for this order has come. Wait until its invoice is settled or has expired.")
    row = _created(merchant, mode, wanted, now)
    return row.id, row.public_id


def _created(merchant: Merchant, mode: Mode, wanted: NewCheckout, now: datetime) -> CheckoutRow:
    try:
        return create_checkout(merchant.pk, mode, wanted, now=now).row
    except ConflictError as error:
        if error.code == "receiving_wallet_missing" and wanted.pairs:
            raise InvalidRequestError(
                "None of these payment methods can be offered now.", param="checkout.paymentMethods"
            ) from error
        raise


def _tries(merchant: Merchant, mode: Mode, wanted: NewCheckout) -> QuerySet[Checkout]:
    """Return the checkouts of an order at its price; none without an order."""
    if not wanted.order_ref:
        return Checkout.objects.none()
    price = "amount" if wanted.currency == CURRENCY else "price"
    same = {price: wanted.amount, "currency": wanted.currency}
    return of_orders(merchant.pk, mode, [wanted.order_ref]).filter(**same)
