"""Addresses of links' pages."""

from collections.abc import Callable

from links.models import PaymentLink
from tests.links.factories import make_donation, make_invoice, make_link, make_subscription_link

MAKERS: dict[str, Callable[..., PaymentLink]] = {
    "custom": make_link,
    "invoice": make_invoice,
    "donation": make_donation,
    "subscription": make_subscription_link,
}


def path_of(link: PaymentLink) -> str:
    return f"/p/{link.code}"
