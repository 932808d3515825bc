"""The capacity meter: how many exact amounts each price has left."""

from typing import Final, NamedTuple

from django.db.models import Count, F, Q

from accounts.team.access import Seat
from checkouts.exact_amounts import CAPACITY, KEPT_FROM_LINKS
from checkouts.models import AmountReservation
from gateway.core.money import readable

SHORT_FROM: Final = CAPACITY * 8 // 10
"""The number of a price's amounts in use that triggers a warning."""

LINK_CAPACITY: Final = CAPACITY - len(KEPT_FROM_LINKS)
"""How many amounts of a price payment links may take."""

_FEW_FOR_LINKS: Final = LINK_CAPACITY - LINK_CAPACITY * 8 // 10
_MOST_SHOWN: Final = 5
PARITY: Final = (F("suffix") / 100 + F("suffix") % 100) % 2
"""1 in the database for `KEPT_FROM_LINKS`, a list too long for a query parameter; 0 for the others."""


class Capacity(NamedTuple):
    """A price in USD, how many of its exact amounts live and cooling checkouts use, and how many are left.

    Payment links may take `left_for_links` of these.
    """

    price: str
    used: int
    left: int
    left_for_links: int

    @property
    def is_short(self) -> bool:
        """Whether it is time to warn."""
        return self.used >= SHORT_FROM or self.left_for_links <= _FEW_FOR_LINKS


def capacities_of(seat: Seat) -> list[Capacity]:
    """Return the prices with the fewest exact amounts left, at most five; none where no exact amount is in use."""
    held = AmountReservation.objects.filter(merchant=seat.merchant, mode=seat.mode, released_at=None)
    counted = held.alias(parity=PARITY).values("price")
    counted = counted.annotate(used=Count("pk"), of_links=Count("pk", filter=Q(parity=0)))
    rows = counted.order_by("-used", "price").values_list("price", "used", "of_links")
    return [
        Capacity(readable(price), used, max(CAPACITY - used, 0), max(LINK_CAPACITY - of_links, 0))
        for price, used, of_links in rows[:_MOST_SHOWN]
    ]
