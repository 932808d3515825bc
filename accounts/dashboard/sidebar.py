"""The dashboard's sidebar: entries, and their state for one person. `gateway.dashboard.navigation` lists them."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.translation import gettext

from accounts.team.access import Seat


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the sidebar: a route that takes `mer_id` and `mode`, a label in English, and a symbol of images/dashboard-icons.svg.

    `count` returns the number of open items for a seat; zero is not shown. An entry that `is_there` denies is left out.
    """

    route: str
    label: str
    icon: str
    count: Callable[[Seat], int] | None = None
    is_there: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Entries under a heading that opens and closes them; the first group has no heading."""

    heading: str
    entries: tuple[Entry, ...]
    stays_open: bool = False


@dataclass(frozen=True, slots=True)
class SidebarEntry:
    """An entry for the current person."""

    label: str
    icon: str
    url: str
    is_current: bool
    count: int


@dataclass(frozen=True, slots=True)
class Section:
    """A group for the current person. `count` is the total of its entries' open items."""

    heading: str
    lines: tuple[SidebarEntry, ...]
    is_open: bool

    @property
    def count(self) -> int:
        """Return the number of open items under the heading."""
        return sum(line.count for line in self.lines)


def section_of(group: Group, request: HttpRequest) -> Section:
    """Return a group for a request with a seat: open if it contains the current page."""
    lines = tuple(line_of(entry, request) for entry in group.entries if entry.is_there is None or entry.is_there())
    is_here = any(line.is_current for line in lines)
    heading = gettext(group.heading) if group.heading else ""
    return Section(heading, lines, is_open=group.stays_open or is_here)


def line_of(entry: Entry, request: HttpRequest) -> SidebarEntry:
    """Return an entry for a request with a seat."""
    seat: Seat = request.seat  # type: ignore[attr-defined]
    url = seat.url(entry.route)
    count = entry.count(seat) if entry.count else 0
    return SidebarEntry(gettext(entry.label), entry.icon, url, _is_at(url, request, seat), count)


def _is_at(url: str, request: HttpRequest, seat: Seat) -> bool:
    # Every page's address begins with the overview's.
    if url == seat.url("dashboard_overview"):
        return request.path == url
    return request.path.startswith(url)
