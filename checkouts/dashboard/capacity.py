"""The capacity meter: how many exact amounts each price has left."""

from typing import Final, NamedTuple

from django.db.models import Count

from accounts.seats import Seat
from checkouts.exactamounts import CAPACITY
from checkouts.models import AmountReservation
from gateway.core.money import readable

SHORT_FROM: Final = CAPACITY * 8 // 10
"""In use, so many of a price's amounts are a reason to warn."""

_MOST_SHOWN: Final = 5


class Capacity(NamedTuple):
    """A price in USD, and how many of its exact amounts are in use, by live and cooling checkouts, and left."""

    price: str
    used: int
    left: int

    @property
    def is_short(self) -> bool:
        """Whether it is time to warn."""
        return self.used >= SHORT_FROM


def capacities_of(seat: Seat) -> list[Capacity]:
    """Return the prices with the fewest exact amounts left, at most five; none where no exact amount is in use."""
    held = AmountReservation.objects.filter(
        merchant=seat.merchant, mode=seat.mode, released_at=None
    )
    counted = held.values("price").annotate(used=Count("pk"))
    rows = counted.order_by("-used", "price").values_list("price", "used")
    return [
        Capacity(readable(price), used, max(CAPACITY - used, 0))
        for price, used in rows[:_MOST_SHOWN]
    ]
