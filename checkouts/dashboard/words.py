"""Badges of a checkout on the merchant's pages, and the tabs of their list."""

from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext_noop

from checkouts.rows import AnyCheckout
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.texts import pgettext_noop
from gateway.core.web.badges import Badge

_EXCEPTIONS: Final = MappingProxyType(
    {
        (CheckoutStatus.COMPLETED, CheckoutException.OVERPAID): Badge(pgettext_noop("team", "Overpaid"), "ok"),
        (CheckoutStatus.COMPLETED, CheckoutException.UNDERPAID): Badge("Accepted, part paid", "ok"),
        (CheckoutStatus.COMPLETED, CheckoutException.REVERSED): Badge("Reversed", "bad"),
        (CheckoutStatus.EXPIRED, CheckoutException.UNDERPAID): Badge("Expired, part paid", "warn"),
    }
)
# A cancelled checkout expires at once: its tab counts both.
_TABS: Final = MappingProxyType({CheckoutStatus.EXPIRED: gettext_noop("Expired, cancelled")})
TABS: Final = (
    ("", gettext_noop("All")),
    *((status, _TABS.get(status, status.badge.word)) for status in CheckoutStatus),
)


IN_DOUBT: Final = Badge("In doubt", "bad")
CANCELLED: Final = Badge("Cancelled", "")
HELD: Final = Badge("Held in escrow", "warn")


def status_badge(checkout: AnyCheckout, *, is_doubted: bool = False) -> Badge:
    """Return the label of a checkout's status, with its exception if there is one, or that its payment is in doubt."""
    if checkout.cancelled_at is not None:
        return CANCELLED
    if is_doubted and checkout.exception != CheckoutException.REVERSED:
        return IN_DOUBT
    status = CheckoutStatus(checkout.status)
    unusual = _EXCEPTIONS.get((status, CheckoutException(checkout.exception)))
    return unusual or status.badge
