"""What the tests fill in the form of a link, and how they send it."""

from typing import Any

from accounts.models import AuditEntry
from links.models import PaymentLink
from links.states import LinkType
from tests.dashboard.people import Desk

FIELDS: dict[LinkType, dict[str, str]] = {
    LinkType.CUSTOM: {"amount": "40.00"},
    LinkType.INVOICE: {"amount": "40", "customer_ref": "cus-7"},
    LinkType.DONATION: {"amount": "10", "min_amount": "5", "max_amount": "500", "suggested_amounts": "10, 25;100"},
    LinkType.SUBSCRIPTION: {"amount": "9.99", "interval": "year"},
}

METADATA = '{"n": 1.10, "big": 123456789012345678901234567890}'

MORE = {
    "title": "Cupping",
    "description": "First line\r\nsecond",
    "redirect_url": "https://shop.example/thanks",
    "product_ref": "cupping",
    "metadata": METADATA,
}


def make(desk: Desk, kind: LinkType, **fields: str) -> Any:
    """Send the form of a new link."""
    filled = MORE | FIELDS[kind] | fields
    return desk.post("dashboard_new_link_of", filled, kind=kind)


def acts(desk: Desk) -> list[tuple[str, str]]:
    """What the audit log says of links, the oldest first, and who did it."""
    entries = AuditEntry.objects.filter(merchant=desk.merchant, action__contains="link")
    return [(entry.action, entry.actor_label) for entry in entries.order_by("pk")]


def edited(desk: Desk, link: PaymentLink, **changes: str) -> Any:
    """Open the form of a link, change some fields of it as a browser would, and send it."""
    form = desk.get("dashboard_edit_link", link_id=link.public_id).context["form"]
    filled = {field.name: field.value() for field in form}
    filled = {name: value for name, value in filled.items() if value is not None}
    return desk.post("dashboard_edit_link", filled | changes, link_id=link.public_id)
