"""Links and templates in the API's format."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson
from django.conf import settings

from gateway.core.money import format_token, format_usd
from gateway.core.times import iso
from links.models import LinkTemplate, PaymentLink
from links.states import LinkType


@dataclass(frozen=True, slots=True)
class Takings:
    """The number of a link's completed payments, and their sum."""

    count: int = 0
    amount: Decimal = Decimal(0)


NOTHING = Takings()


def link_url(code: str) -> str:
    """Return the address of a link's page."""
    return f"{settings.LINK_HOST}/p/{code}"


def link_payload(link: PaymentLink, takings: Takings) -> dict[str, Any]:
    """Return the link object of `GET /links/{id}`; its merchant and template are loaded."""
    return {
        "id": link.public_id,
        "title": link.title,
        "description": link.description or None,
        "amount": _usd(link.amount),
        "currency": link.currency,
        "type": link.type,
        "metadata": orjson.Fragment(link.metadata),
        "status": link.status,
        "url": link_url(link.code),
        "livemode": link.mode == "live",
        "created_at": iso(link.created_at),
        "updated_at": iso(link.updated_at),
        "payments_count": takings.count,
        "amount_collected": format_token(takings.amount),
        "min_amount": _usd(link.min_amount),
        "max_amount": _usd(link.max_amount),
        "suggested_amounts": link.suggested_amounts,
        "interval": link.interval or None,
        "redirect_url": link.redirect_url or None,
        "webhook_url": link.webhook_url or None,
        "customer_ref": link.customer_ref or None,
        "product_ref": link.product_ref or None,
        "escrow": link.escrow,
        "template": link.template.public_id if link.template else None,
        "share_text": share_text(link),
    }


def template_payload(template: LinkTemplate) -> dict[str, Any]:
    """Return the template object."""
    return {
        "id": template.public_id,
        "title": template.title,
        "description": template.description or None,
        "type": template.type,
        "amount": _usd(template.amount),
        "metadata": orjson.Fragment(template.metadata),
        "livemode": template.mode == "live",
        "created_at": iso(template.created_at),
    }


_INVITATIONS: Mapping[str, str] = {
    LinkType.INVOICE: "{merchant} asks for ${amount}: {title}",
    LinkType.DONATION: "Give to {merchant}: {title}",
    LinkType.SUBSCRIPTION: "{title} by {merchant}, ${amount} a {interval}",
    LinkType.CUSTOM: "{title} by {merchant}, ${amount}",
}


def share_text(link: PaymentLink) -> str:
    """Return one line to paste into a message, with payee, purpose and address."""
    words = _INVITATIONS[link.type].format(
        merchant=link.merchant.shown_name,
        title=link.title,
        amount="" if link.amount is None else f"{link.amount:,.2f}",
        interval=link.interval,
    )
    return f"{words} {link_url(link.code)}"


def _usd(amount: Decimal | None) -> str | None:
    return None if amount is None else format_usd(amount)
