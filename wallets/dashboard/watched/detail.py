"""The page of a watched wallet: its balances and movements."""

from collections.abc import Mapping
from datetime import UTC, date
from typing import Final
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import NotFoundError
from gateway.core.csv_files import csv_response
from wallets.dashboard.watched.chart import Chart, chart_of
from wallets.dashboard.watched.rows import movement_rows, watched_rows
from wallets.models import WatchedWallet
from wallets.networks import accepted_tokens
from wallets.states import Direction
from wallets.transfers import movement_selectors
from wallets.transfers.block_pages import newest_page
from wallets.transfers.movement_selectors import MovementFilter, movement_total, movements_wanted
from wallets.watched.lists import watched_wallet
from wallets.watched.payloads import CSV_HEADER, csv_cells
from wallets.watched.selectors import balance_days

RANGES: Final = ((30, "30 days"), (90, "90 days"), (365, "1 year"))
_USUAL_DAYS: Final = 30
_DIRECTIONS: Final = ((Direction.IN, "In"), (Direction.OUT, "Out"))


def find_wallet(seat: Seat, wallet_id: str) -> WatchedWallet:
    """Return a wallet of the merchant and mode. Raises Http404."""
    try:
        return watched_wallet(seat.merchant.pk, seat.mode, wallet_id)
    except NotFoundError as error:
        raise Http404 from error


@seated(get=Act.SEE)
def wallet(request: SeatedRequest, *, wallet_id: str) -> HttpResponse:
    """Show a wallet, its balance day by day, and a page of its movements."""
    found = find_wallet(request.seat, wallet_id)
    query = request.GET.dict()
    wanted, days = _parse_wanted(query), _parse_days(query)
    page = newest_page(movements_wanted(found, wanted), query)
    today = timezone.now().astimezone(UTC).date()
    context = _now(found) | {
        "chart": _chart(found, days=days, today=today),
        "days": days,
        "ranges": RANGES,
        "wanted": wanted,
        "is_narrowed": wanted != MovementFilter(),
        "tokens": [(name, name) for name in accepted_tokens()],
        "directions": _DIRECTIONS,
        "movements": movement_rows(page.rows),
        "pager": page,
        "file_query": _query_of(wanted),
    }
    return render(request, "dashboard/watched/detail.html", context)


@seated(get=Act.SEE)
def live(request: SeatedRequest, *, wallet_id: str) -> HttpResponse:
    """Return the progress of a wallet's history; once it is read, reload the page."""
    context = _now(find_wallet(request.seat, wallet_id)) | {"is_update": True}
    if not context["row"].is_importing:  # type: ignore[attr-defined]
        return HttpResponse(headers={"HX-Refresh": "true"})
    if request.GET.get("seen") == context["digest"]:
        return HttpResponse(status=204)
    return render(request, "dashboard/watched/_progress.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest, *, wallet_id: str) -> HttpResponseBase:
    """Send a wallet's movements as CSV."""
    found = find_wallet(request.seat, wallet_id)
    wanted = _parse_wanted(request.GET)
    cells = csv_cells(movement_selectors.movement_rows(found, wanted))
    return csv_response(f"movements-{found.public_id}", CSV_HEADER, cells)


def _now(found: WatchedWallet) -> dict[str, object]:
    """Return the live part of the page: progress of the history, its results, and balances."""
    [row], count = watched_rows([found]), movement_total(found, MovementFilter())
    held = "-".join(amount for _, amount in row.balances)
    return {"row": row, "count": count, "digest": f"{row.progress}-{count}-{held}-{row.error}"}


def _chart(found: WatchedWallet, *, days: int, today: date) -> Chart | None:
    """Return the chart; None before any balance is known."""
    held = balance_days(found, days=days, today=today)
    return chart_of(held) if held else None


def _parse_wanted(query: Mapping[str, str]) -> MovementFilter:
    """Parse a query string from an untrusted client; invalid filters are ignored."""
    token, direction = query.get("token", ""), query.get("direction", "")
    return MovementFilter(
        token=token if token in accepted_tokens() else "",
        direction=Direction(direction) if direction in Direction.values else None,
    )


def _parse_days(query: Mapping[str, str]) -> int:
    asked = query.get("days", "")
    return int(asked) if asked in {str(days) for days, _ in RANGES} else _USUAL_DAYS


def _query_of(wanted: MovementFilter) -> str:
    named = {"token": wanted.token, "direction": wanted.direction or ""}
    return urlencode({name: value for name, value in named.items() if value})
