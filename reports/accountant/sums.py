"""What the lines of a time add up to, by network and token: from daily totals, without reading the lines.

Each sum equals that of the lines of the file (a test adds both up). What was taken back later counts in its month, and is taken
off in the month in which that happened.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import Q, QuerySet, Sum
from django.utils.translation import gettext

from accounts.states import Mode
from gateway.core.money import from_units
from gateway.core.postgres.replica import snapshot
from payouts.models import Payout
from payouts.states import PayoutKind
from reports.accountant.lines import usd_of_euros
from reports.accountant.places import (
    BOOKED,
    TAKEN_BACK,
    elsewhere,
    month_filter,
    noted_refunds,
    removed_movements,
    removed_transfers,
)
from reports.inputs import ReportFilter
from reports.summaries import token_sums
from wallets.models import WatchedMovement
from wallets.networks import chain_spec, is_accepted, is_of_dollars
from wallets.states import Direction, WatchPurpose

_Place = tuple[str, str]
"""A chain and a token."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Moved:
    """What came, what refunds gave back, and what else left, in base units."""

    received: int = 0
    refunded: int = 0
    sent: int = 0

    def __add__(self, other: "Moved") -> "Moved":
        return Moved(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Moved)))

    @property
    def net(self) -> int:
        """Return what came less what left."""
        return self.received - self.refunded - self.sent


@dataclass(frozen=True, slots=True)
class TokenMonth:
    """A month of a token on a network, in whole tokens: what was there, moved, and is there after it.

    `opening` and `closing` are what was recorded, not what a wallet holds: what left a wallet that is not watched is unknown. A token is
    one USD, other than of euros: `euros_usd` is then what those were worth that paid checkouts in the month, less what refunds gave back.
    """

    chain: str
    token: str
    opening: Decimal
    received: Decimal
    refunded: Decimal
    sent: Decimal
    closing: Decimal
    euros_usd: Decimal | None = None

    @property
    def name(self) -> str:
        """Return the token and its network."""
        return gettext("%(token)s on %(network)s") % {"token": self.token, "network": chain_spec(self.chain).title}


def month_sums(merchant_id: int, mode: Mode, *, since: datetime, until: datetime, now: datetime) -> list[TokenMonth]:
    """Return the sums of a time by network and token: of accepted ones and of euros.

    Call it outside a transaction: it reads all in a snapshot. What euros were worth is read line by line.
    """
    wanted = month_filter(merchant_id, mode, since, until)
    with snapshot():
        before = moved_within(month_filter(merchant_id, mode, _BEGINNING, since), now=now)
        moved = moved_within(wanted, now=now)
        worths = {
            (chain, token): usd_of_euros(replace(wanted, chain=chain, token=token))
            for chain, token in before | moved
            if not is_of_dollars(token)
        }
    return [
        _month_of(place, before.get(place, Moved()), moved.get(place, Moved()), worths.get(place))
        for place in sorted(before | moved)
    ]


def _month_of(place: _Place, before: Moved, moved: Moved, euros_usd: Decimal | None) -> TokenMonth:
    return TokenMonth(
        *place,
        opening=from_units(before.net),
        received=from_units(moved.received),
        refunded=from_units(moved.refunded),
        sent=from_units(moved.sent),
        closing=from_units(before.net + moved.net),
        euros_usd=euros_usd,
    )


def moved_within(wanted: ReportFilter, *, now: datetime) -> dict[_Place, Moved]:
    """Return what moved in a filter's time, which has both bounds, by chain and token: of accepted ones and of euros, in their units."""
    came: dict[_Place, int] = defaultdict(int)
    left: dict[_Place, int] = defaultdict(int)
    for place, sums in token_sums(wanted, now=now).items():
        came[place] += sums.inflow
        left[place] += sums.outflow
    for place, units in _corrections(removed_transfers(wanted), wanted):
        came[place] += units
    movements = removed_movements(wanted)
    for place, units in _corrections(movements.filter(direction=Direction.IN), wanted):
        came[place] += units
    for place, units in _corrections(movements.filter(direction=Direction.OUT), wanted):
        left[place] += units
    refunded = _refunds(wanted)
    for place, units in _elsewhere(wanted):
        left[place] += units
    # Other tokens may be worth anything.
    places = {place for place in (*came, *left, *refunded) if is_accepted(*place) or not is_of_dollars(place[1])}
    moved = {
        place: Moved(came[place], refunded.get(place, 0), left[place] - refunded.get(place, 0)) for place in places
    }
    return {place: one for place, one in moved.items() if one != Moved()}


def _corrections(found: QuerySet[Any], wanted: ReportFilter) -> Iterable[tuple[_Place, int]]:
    """Yield what removed rows add to a time, in which they were final, less what was taken back in it."""
    came, gone = _bounds("block_time", wanted), _bounds("orphaned_at", wanted)
    rows = found.values_list("chain", "token").annotate(came=Sum("units", filter=came), gone=Sum("units", filter=gone))
    for chain, token, added, taken in rows.order_by():
        yield (chain, token), int(added or 0) - int(taken or 0)


def _bounds(column: str, wanted: ReportFilter) -> Q:
    return Q(**{f"{column}__gte": wanted.since, f"{column}__lt": wanted.until})


def _refunds(wanted: ReportFilter) -> dict[_Place, int]:
    """Return what refunds gave back: those that the chain paid, and those that people noted."""
    at_recipient = Q(movement__wallet__purpose=WatchPurpose.PAYOUT, movement__direction=Direction.IN)
    own = Q(movement__wallet__purpose=WatchPurpose.LIST, movement__direction=Direction.OUT)
    paid = Payout.objects.of(wanted.merchant_id, wanted.mode).filter(at_recipient | own, kind=PayoutKind.REFUND)
    moved = WatchedMovement.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    found: dict[_Place, int] = defaultdict(int)
    for condition, column, sign in ((BOOKED, "block_time", 1), (TAKEN_BACK, "orphaned_at", -1)):
        rows = paid.filter(movement__in=moved.filter(condition, _bounds(column, wanted)))
        sums = rows.values_list("movement__chain", "movement__token").annotate(units=Sum("movement__units"))
        for chain, token, units in sums.order_by():
            found[chain, token] += sign * int(units)
    noted = noted_refunds(wanted).filter(kind=PayoutKind.REFUND)
    for chain, token, units in noted.values_list("chain", "token").annotate(sum=Sum("units")).order_by():
        found[chain, token] += int(units)
    return found


def _elsewhere(wanted: ReportFilter) -> Iterable[tuple[_Place, int]]:
    """Yield what refunds and payouts sent from wallets that no report adds up."""
    rows = elsewhere(wanted).filter(BOOKED).values_list("chain", "token").annotate(sum=Sum("units"))
    yield from (((chain, token), int(units)) for chain, token, units in rows.order_by())
    whenever = elsewhere(replace(wanted, since=None, until=None)).filter(TAKEN_BACK, _bounds("orphaned_at", wanted))
    rows = whenever.values_list("chain", "token").annotate(sum=Sum("units"))
    yield from (((chain, token), -int(units)) for chain, token, units in rows.order_by())
    noted = noted_refunds(wanted).values_list("chain", "token").annotate(sum=Sum("units"))
    yield from (((chain, token), int(units)) for chain, token, units in noted.order_by())
