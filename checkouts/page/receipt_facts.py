"""What a receipt says besides its page: the order's reference, and what was bought. Only receipts are given these.

A page that can still be paid is seen by whoever has its address, and a receipt by who paid.
"""

from dataclasses import dataclass

from checkouts.line_items import Invoice, LineItem, invoice_of, line_items_of
from checkouts.models import Checkout


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    """The merchant's reference of the order, and the invoice and the lines of its metadata; each may be missing."""

    order_ref: str
    items: tuple[LineItem, ...]
    invoice: Invoice | None = None


def receipt_facts(checkout: Checkout) -> ReceiptFacts:
    """Return what the receipt of a completed checkout says more."""
    found = line_items_of(checkout.metadata, amount=checkout.asked_amount, currency=checkout.currency)
    items = found.lines if found else ()
    return ReceiptFacts(order_ref=checkout.order_ref, items=items, invoice=invoice_of(checkout.metadata))
