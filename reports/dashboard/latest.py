"""The overview's latest payments, and the streams that update an open page."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from django.conf import settings
from django.urls import reverse

from accounts.team.seats import Seat
from checkouts.dashboard.checkout_list import ListedCheckout, listed
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus

_MOST_SHOWN: Final = 8
# With HTTP/1.1 a browser opens six connections to a host, and a page needs some for itself.
_MOST_FOLLOWED: Final = 4
_WITH_MONEY: Final = (CheckoutStatus.COMPLETED, CheckoutStatus.PROCESSING, CheckoutStatus.UNDERPAID)


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest checkouts with money, and the stream addresses of those that may change next."""

    rows: Sequence[ListedCheckout]
    streams: Sequence[str]

    def digest(self) -> str:
        """Return a digest of everything shown and followed; it changes whenever the page looks different."""
        return blake2b(repr(self).encode(), digest_size=12).hexdigest()


def latest_of(seat: Seat) -> Latest:
    """Return the latest payments: each status is a short index look-up.

    Followed are payments on their way and the newest checkouts that wait for one, four at most.
    """
    paid = [one for status in _WITH_MONEY for one in _newest(seat, status, _MOST_SHOWN)]
    shown = sorted(paid, key=lambda checkout: -checkout.pk)[:_MOST_SHOWN]
    moving = [checkout for checkout in shown if not checkout.is_final]
    waiting = _newest(seat, CheckoutStatus.PENDING, _MOST_FOLLOWED)
    return Latest(rows=listed(shown), streams=[_stream(one) for one in [*moving, *waiting][:_MOST_FOLLOWED]])


def _newest(seat: Seat, status: CheckoutStatus, most: int) -> list[Checkout]:
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    return list(mine.filter(status=status).order_by("-pk")[:most])


def _stream(checkout: Checkout) -> str:
    path: str = reverse("checkout-stream", args=[checkout.code])
    return f"{settings.STREAM_URL}{path}"
