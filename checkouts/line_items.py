"""What a checkout is for, as its metadata has it: line by line in `line_items`, and who is billed until when in `invoice`.

Neither changes an amount.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from gateway.core import json
from gateway.core.currencies import USD, parse_price
from gateway.core.money import ENDLESS
from gateway.core.times import parse_day
from gateway.core.web.numbers import readable_price

MOST: Final = 50
_MOST_QUANTITY: Final = 1_000_000
LONGEST_FACT: Final = 120
"""How many letters the number and the buyer of an invoice have at most."""


@dataclass(frozen=True, slots=True)
class LineItem:
    """A line: name, quantity, and price in the checkout's currency formatted for people."""

    name: str
    quantity: int
    unit_price: str
    total: str


@dataclass(frozen=True, slots=True)
class LineItems:
    """All lines, and their sum in the checkout's currency. `is_exact` says that the sum is the checkout's amount."""

    lines: tuple[LineItem, ...]
    total: str
    is_exact: bool


def line_items_of(metadata: str, *, amount: Decimal, currency: str = USD) -> LineItems | None:
    """Return the line items of metadata (JSON text); None if there are none, or one is malformed."""
    found = json.loads(metadata.encode())
    items = found.get("line_items") if isinstance(found, dict) else None
    if not isinstance(items, list) or not 0 < len(items) <= MOST:
        return None
    read = [line for item in items if (line := _read(item, currency)) is not None]
    if len(read) != len(items):
        return None
    total = sum((cost for _, cost in read), Decimal(0))
    lines = tuple(line for line, _ in read)
    return LineItems(lines, readable_price(total, currency), is_exact=total == amount)


def _read(item: Any, currency: str) -> tuple[LineItem, Decimal] | None:
    """Return a line and its price; None if it is malformed."""
    if not isinstance(item, Mapping):
        return None
    name, quantity = item.get("name"), item.get("quantity", 1)
    price = item.get("unit_price")
    if not isinstance(name, str) or not name.strip():
        return None
    # A boolean is an int too.
    if type(quantity) is not int or not 0 < quantity <= _MOST_QUANTITY:
        return None
    each = parse_price(price, currency) if isinstance(price, str) else None
    if each is None or each >= ENDLESS:
        return None
    cost = each * quantity
    return LineItem(name, quantity, readable_price(each, currency), readable_price(cost, currency)), cost


@dataclass(frozen=True, slots=True)
class Invoice:
    """The number of an invoice, who is billed, and until when it is to be paid; each may be missing."""

    number: str = ""
    buyer: str = ""
    due: date | None = None

    def as_metadata(self) -> dict[str, str]:
        """Return it as `invoice` of metadata; empty if nothing is known."""
        facts = {"number": self.number, "buyer": self.buyer, "due": self.due.isoformat() if self.due else ""}
        return {name: text for name, text in facts.items() if text}


def invoice_of(metadata: str) -> Invoice | None:
    """Return the invoice of metadata (JSON text); None if there is none. What is malformed in it is left out."""
    found = json.loads(metadata.encode())
    told = found.get("invoice") if isinstance(found, dict) else None
    if not isinstance(told, Mapping):
        return None
    number, buyer, due = (told.get(name) for name in ("number", "buyer", "due"))
    invoice = Invoice(_fact(number), _fact(buyer), parse_day(due) if isinstance(due, str) else None)
    return invoice if invoice.as_metadata() else None


def _fact(text: Any) -> str:
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return line if len(line) <= LONGEST_FACT else ""
