"""The merchant's list of links."""

from django.http import HttpResponse
from django.shortcuts import render

from accounts.team.permissions import Act
from accounts.team.seats import (
    Seat,
    SeatedRequest,
    seated,
)
from links.dashboard.link_list import (
    Wanted,
    list_page,
    parse_wanted,
    status_counts,
)
from links.dashboard.words import ALL, KINDS, TABS

Tab = tuple[str, str, bool, int | None]


@seated(get=Act.SEE)
def links(request: SeatedRequest) -> HttpResponse:
    """List payment links, newest first."""
    seat = request.seat
    wanted = parse_wanted(request.GET)
    counts = status_counts(seat)
    page = list_page(seat, wanted, request.GET.dict())
    context = {
        "wanted": wanted,
        "rows": page.rows,
        "pager": page,
        "tabs": _tabs(seat, wanted, counts),
        "kinds": [(kind.type, kind.label) for kind in KINDS.values()],
        "is_new_here": not counts[ALL],
    }
    return render(request, "dashboard/links/list.html", context)


def _tabs(seat: Seat, wanted: Wanted, counts: dict[str, int]) -> list[Tab]:
    address = seat.url("dashboard_links")
    return [
        (
            label,
            f"{address}?{wanted.query(tab)}",
            tab == wanted.tab,
            None if wanted.is_narrowed else counts[tab],
        )
        for tab, label in TABS
    ]
