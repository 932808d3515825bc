"""Labels of machines' payments on the merchant's pages."""

from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext, gettext_noop

from gateway.core.web.badges import Badge
from x402.models import X402Payment
from x402.states import PaymentStatus, Protocol

PROTOCOLS: Final = MappingProxyType(
    {
        Protocol.HASH: gettext_noop("By hash"),
        Protocol.EXACT: gettext_noop("Signed (exact)"),
        Protocol.UPTO: gettext_noop("Signed (up to)"),
    }
)


def status_badge(payment: X402Payment) -> Badge:
    """Return the badge of a payment's status."""
    return PaymentStatus(payment.status).badge


def protocol_label(payment: X402Payment) -> str:
    """Return how a payment was proven."""
    return gettext(PROTOCOLS[Protocol(payment.protocol)])
