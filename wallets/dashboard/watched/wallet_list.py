"""The list of watched wallets, with live updates while their history is read."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.keyset import PAGE_ROWS, keyset_page
from wallets.dashboard.watched.rows import WatchedRow, watched_rows
from wallets.networks import chains
from wallets.watched.lists import WalletFilter, tags_of, wallets_wanted


@seated(get=Act.SEE)
def wallets(request: SeatedRequest) -> HttpResponse:
    """List watched wallets, newest first."""
    seat = request.seat
    wanted = _parse_wanted(seat, request.GET)
    page = keyset_page(wallets_wanted(wanted), request.GET.dict())
    rows = watched_rows(page.rows)
    context = {
        "wanted": wanted,
        "rows": rows,
        "pager": page,
        "chains": [(spec.name, spec.title) for spec in chains().values()],
        "tags": [(tag, tag) for tag in tags_of(seat.merchant.pk, seat.mode)],
        "importing": _still_importing(rows),
    }
    return render(request, "dashboard/watched/list.html", context)


@seated(get=Act.SEE)
def live(request: SeatedRequest) -> HttpResponse:
    """Return the progress and balances of a page's wallets."""
    seat = request.seat
    named = [name for name in request.GET.getlist("id") if "\x00" not in name]
    everything = wallets_wanted(WalletFilter(seat.merchant.pk, seat.mode))
    shown = everything.filter(public_id__in=named[:PAGE_ROWS])
    rows = watched_rows(shown.order_by("-pk"))
    context = {
        "rows": rows,
        "importing": _still_importing(rows),
        "done": [row.title for row in rows if not row.is_importing],
    }
    return render(request, "dashboard/watched/_live.html", context)


def _parse_wanted(seat: Seat, query: Mapping[str, str]) -> WalletFilter:
    """Parse a query string from an untrusted client; invalid filters are ignored."""
    chain, tag = query.get("chain", ""), query.get("tag", "")
    return WalletFilter(
        seat.merchant.pk, seat.mode, chain=chain if chain in chains() else "", tag="" if "\x00" in tag else tag
    )


def _still_importing(rows: Iterable[WatchedRow]) -> str:
    """Return the query string of the wallets to poll for; empty if there are none."""
    return urlencode([("id", row.id) for row in rows if row.is_importing])
