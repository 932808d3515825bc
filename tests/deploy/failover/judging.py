"""What a run shows: times without progress, and accepted checkouts that are lost or doubled."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import quantiles

from tests.deploy.failover.load import Order


@dataclass(frozen=True)
class Window:
    """The time from a kill until everything was in order again."""

    began: float
    ended: float


def longest_gap(times: Iterable[float], window: Window) -> float:
    """Return the longest time without progress inside the window, in seconds."""
    inside = (time for time in times if window.began < time < window.ended)
    marks = sorted([window.began, *inside, window.ended])
    return max(later - earlier for earlier, later in pairwise(marks))


def waits(orders: Iterable[Order], window: Window) -> list[float]:
    """Return how long shops waited for the checkouts that they wanted in the window, or still waited for as it began."""
    return sorted(
        order.accepted - order.began for order in orders if order.accepted > window.began and order.began < window.ended
    )


def percentile_99(values: Sequence[float]) -> float:
    """Return what 99 of 100 values do not exceed."""
    return quantiles(values, n=100, method="inclusive")[98] if values else 0.0


Row = tuple[str, str]
"""A checkout in the database: its `order_ref` and its public id."""


def lost(orders: Iterable[Order], rows: Iterable[Row]) -> list[str]:
    """Return the accepted checkouts that the database does not have."""
    kept = set(rows)
    return [order.ref for order in orders if order.accepted and (order.ref, order.public_id) not in kept]


def doubled(rows: Iterable[Row]) -> list[str]:
    """Return the orders for which there is more than one checkout."""
    counted = Counter(ref for ref, _ in rows)
    return [ref for ref, number in counted.items() if number > 1]
