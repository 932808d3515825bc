"""What a receipt says besides its page: the order's reference, and what was bought. Only receipts are given these.

A page that can still be paid is seen by whoever has its address, and a receipt by who paid.
"""

from dataclasses import dataclass

from checkouts.line_items import LineItem, line_items_of
from checkouts.models import Checkout


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    """The merchant's reference of the order, and the lines of its metadata; both may be empty."""

    order_ref: str
    items: tuple[LineItem, ...]


def receipt_facts(checkout: Checkout) -> ReceiptFacts:
    """Return what the receipt of a completed checkout says more."""
    found = line_items_of(checkout.metadata, amount=checkout.asked_amount, currency=checkout.currency)
    return ReceiptFacts(order_ref=checkout.order_ref, items=found.lines if found else ())
