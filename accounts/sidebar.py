"""The dashboard's sidebar: what an entry is, and how one person sees it now. `gateway.dashboard_navigation` lists them."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest

from accounts.seats import Seat


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the sidebar: a route that takes `mer_id` and `mode`, and a symbol of images/dashboard-icons.svg.

    `count` returns how much waits there for a seat; zero is not shown.
    """

    route: str
    label: str
    icon: str
    count: Callable[[Seat], int] | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Entries under a heading; the first group has none."""

    heading: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """An entry as this person sees it now."""

    label: str
    icon: str
    url: str
    is_current: bool
    count: int


def line_of(entry: Entry, request: HttpRequest) -> Line:
    """Return how an entry stands in the sidebar of a request that has a seat."""
    seat: Seat = request.seat  # type: ignore[attr-defined]
    url = seat.url(entry.route)
    count = entry.count(seat) if entry.count else 0
    return Line(entry.label, entry.icon, url, _is_at(url, request, seat), count)


def _is_at(url: str, request: HttpRequest, seat: Seat) -> bool:
    # Every page is below the overview's address.
    if url == seat.url("dashboard_overview"):
        return request.path == url
    return request.path.startswith(url)
