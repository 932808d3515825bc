"""The pages of watched wallets: the list, and one wallet with its balances and movements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from decimal import Decimal
from typing import Final
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import NotFoundError
from gateway.core.api.pagination import PAGE_ROWS, TimedRows, keyset_page, page_by_time
from gateway.core.exports import csv_response
from gateway.core.money import from_units
from gateway.core.web.lists import AnyChoice, FilterChoice, FilterForm
from wallets.dashboard.watched.rows import WatchedRow, movement_rows, watched_rows
from wallets.models import WatchedMovement, WatchedWallet
from wallets.networks import chain_choices, token_choices
from wallets.states import Direction
from wallets.transfers import selectors
from wallets.transfers.selectors import MovementFilter, movement_total, movements_wanted
from wallets.watched.selectors import WalletFilter, balance_days, tags_of, wallets_wanted, watched_wallet
from wallets.watched.serializers import CSV_HEADER, csv_cells

# Of the chart, in its own unit.
DAY_WIDTH: Final = 10
HEIGHT: Final = 1000
# The highest step stays below the edge, which would cut off half of its line.
_TOP: Final = 40

Held = Sequence[tuple[date, int]]

RANGES: Final = ((30, gettext_noop("30 days")), (90, gettext_noop("90 days")), (365, gettext_noop("1 year")))
_USUAL_DAYS: Final = 30
_DIRECTIONS: Final = ((Direction.IN, gettext_noop("In")), (Direction.OUT, gettext_noop("Out")))


@dataclass(frozen=True, slots=True)
class BalanceLine:
    """One token: `path` draws its steps, `area` the area below. `last` is its current balance."""

    token: str
    path: str
    area: str
    last: Decimal


@dataclass(frozen=True, slots=True)
class BalanceDay:
    """The balances at the end of a day (UTC), by token, in the order of the lines."""

    day: date
    held: tuple[tuple[str, Decimal], ...]


@dataclass(frozen=True, slots=True)
class BalanceChart:
    """A drawing `width` wide and `HEIGHT` high; its lines, and their days, oldest first."""

    lines: tuple[BalanceLine, ...]
    days: tuple[BalanceDay, ...]
    highest: Decimal

    @property
    def width(self) -> int:
        """Return the drawing's width, in its own unit."""
        return len(self.days) * DAY_WIDTH

    @property
    def since(self) -> date:
        """Return the first day."""
        return self.days[0].day

    @property
    def until(self) -> date:
        """Return the last day."""
        return self.days[-1].day


def chart_of(history: Mapping[str, Held]) -> BalanceChart:
    """Draw each token's balance at the end of each day, in base units: the same days for each, oldest first."""
    highest = max(units for held in history.values() for _, units in held)
    lines = [_chart_line(token, held, highest) for token, held in history.items()]
    days = [
        BalanceDay(day, tuple((token, from_units(history[token][at][1])) for token in history))
        for at, (day, _) in enumerate(next(iter(history.values())))
    ]
    return BalanceChart(tuple(lines), tuple(days), from_units(highest))


def _chart_line(token: str, held: Held, highest: int) -> BalanceLine:
    heights = [_height(units, highest) for _, units in held]
    steps = "".join(f"V{height}h{DAY_WIDTH}" for height in heights)
    return BalanceLine(
        token=token, path=f"M0 {heights[0]}{steps}", area=f"M0 {HEIGHT}{steps}V{HEIGHT}z", last=from_units(held[-1][1])
    )


def _height(units: int, highest: int) -> int:
    """Return a step's distance from the top: in SVG, y grows downwards."""
    return HEIGHT - (units * (HEIGHT - _TOP) // highest if highest else 0)


class WalletFilters(FilterForm[WatchedWallet]):
    """The filters of the list: a network, and a tag. The merchant's tags are offered, others are valid."""

    chain = FilterChoice(_("Network"), chain_choices, everything=_("Any network"))
    tag = AnyChoice(_("Tag"), everything=_("Any tag"))

    def clean_tag(self) -> str:
        """Return the tag if it can be one."""
        tag: str = self.cleaned_data["tag"]
        return "" if "\x00" in tag else tag


class MovementFilters(FilterForm[WatchedMovement]):
    """The filters of a wallet's movements."""

    direction = FilterChoice(_("Direction"), _DIRECTIONS, everything=_("In and out"))
    token = FilterChoice(_("Token"), token_choices, everything=_("Any token"))

    def wanted(self) -> MovementFilter:
        """Return the filter of movements."""
        direction = self.texts["direction"]
        return MovementFilter(token=self.texts["token"], direction=Direction(direction) if direction else None)


@seated(get=Act.SEE)
def wallets(request: SeatedRequest) -> HttpResponse:
    """List watched wallets, newest first."""
    seat, filters = request.seat, WalletFilters(request.GET)
    wanted = WalletFilter(seat.merchant.pk, seat.mode, **filters.texts)
    page = keyset_page(wallets_wanted(wanted), request.GET.dict())
    rows = watched_rows(page.rows)
    tags = tags_of(seat.merchant.pk, seat.mode)
    filters.offer("tag", [(tag, tag) for tag in tags])
    context = {"filters": filters, "rows": rows, "pager": page, "tags": tags, "importing": _still_importing(rows)}
    return render(request, "dashboard/wallets/watched/list.html", context)


@seated(get=Act.SEE)
def wallets_live(request: SeatedRequest) -> HttpResponse:
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
    return render(request, "dashboard/wallets/watched/_live.html", context)


def _still_importing(rows: Iterable[WatchedRow]) -> str:
    """Return the query string of the wallets to poll for; empty if there are none."""
    return urlencode([("id", row.id) for row in rows if row.is_importing])


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
    query, filters = request.GET.dict(), MovementFilters(request.GET)
    days = _parse_days(query)
    page = page_by_time([TimedRows(movements_wanted(found, filters.wanted()), "block_time")], query)
    today = timezone.now().astimezone(UTC).date()
    context = _now(found) | {
        "chart": _chart(found, days=days, today=today),
        "days": days,
        "ranges": [(days, gettext(label)) for days, label in RANGES],
        "filters": filters,
        "movements": movement_rows(page.rows),
        "pager": page,
        "file_query": filters.query(),
    }
    return render(request, "dashboard/wallets/watched/detail.html", context)


@seated(get=Act.SEE)
def wallet_live(request: SeatedRequest, *, wallet_id: str) -> HttpResponse:
    """Return the progress of a wallet's history; once it is read, reload the page."""
    context = _now(find_wallet(request.seat, wallet_id)) | {"is_update": True}
    if not context["row"].is_importing:  # type: ignore[attr-defined]
        return HttpResponse(headers={"HX-Refresh": "true"})
    if request.GET.get("seen") == context["digest"]:
        return HttpResponse(status=204)
    return render(request, "dashboard/wallets/watched/_progress.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest, *, wallet_id: str) -> HttpResponseBase:
    """Send a wallet's movements as CSV."""
    found = find_wallet(request.seat, wallet_id)
    cells = csv_cells(selectors.movement_rows(found, MovementFilters(request.GET).wanted()))
    return csv_response(f"movements-{found.public_id}", CSV_HEADER, cells)


def _now(found: WatchedWallet) -> dict[str, object]:
    """Return the live part of the page: progress of the history, its results, and balances."""
    [row], count = watched_rows([found]), movement_total(found, MovementFilter())
    held = "-".join(amount for _, amount in row.balances)
    return {"row": row, "count": count, "digest": f"{row.progress}-{count}-{held}-{row.error}"}


def _chart(found: WatchedWallet, *, days: int, today: date) -> BalanceChart | None:
    """Return the chart; None before any balance is known."""
    held = balance_days(found, days=days, today=today)
    return chart_of(held) if held else None


def _parse_days(query: Mapping[str, str]) -> int:
    asked = query.get("days", "")
    return int(asked) if asked in {str(days) for days, _ in RANGES} else _USUAL_DAYS
