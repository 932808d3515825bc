"""The three totals on pages: received, still in forwarders, settled. Every line adds up, and so does the total.

Tokens of another currency than USD have lines, and are in no total.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext

from accounts.states import Mode
from accounts.team.access import Seat
from gateway.core.money import from_units
from settlements.dashboard.rows import PURPOSES
from settlements.models import Hold
from wallets.models import DepositBalance, DepositTotal
from wallets.networks import chain_spec, is_accepted, takes_from_machines
from wallets.states import ClaimKind


@dataclass(frozen=True, slots=True)
class ForwarderTotals:
    """A merchant's forwarders' final received amount of a token on a chain, and the part that reached the wallet."""

    purpose: ClaimKind
    chain: str
    token: str
    received: int
    settled: int

    @property
    def in_forwarders(self) -> int:
        """Return what waits in forwarders. Never negative: unwatched money may have been flushed too."""
        return max(self.received - self.settled, 0)


def figures_of(merchant_id: int, *, purpose: ClaimKind | None = None) -> Sequence[ForwarderTotals]:
    """Return a merchant's totals, of one purpose or of both, by purpose, chain and token."""
    rows = DepositTotal.objects.filter(merchant=merchant_id)
    if purpose is not None:
        rows = rows.filter(purpose=purpose)
    return [
        ForwarderTotals(
            ClaimKind(row.purpose), row.chain, row.token, received=int(row.received), settled=int(row.flushed)
        )
        for row in rows.order_by("purpose", "chain", "token")
        # Others may be worth anything: the inbox names them.
        if takes_from_machines(row.chain, row.token)
    ]


def held_units(merchant_id: int) -> int:
    """Return the amount in forwarders that is held in escrow, of tokens worth one USD."""
    return sum(units for place, units in held_by_token(merchant_id).items() if is_accepted(*place))


def held_by_token(merchant_id: int) -> dict[tuple[str, str], int]:
    """Return what is held in escrow, in base units by chain and token."""
    nonces = Hold.objects.filter(merchant=merchant_id, released_at=None).values("nonce")
    rows = DepositBalance.objects.filter(merchant=merchant_id, deposit__nonce__in=nonces).values_list(
        "chain", "token", "received", "flushed"
    )
    held: dict[tuple[str, str], int] = {}
    for chain, token, received, flushed in rows:
        if takes_from_machines(chain, token):
            held[chain, token] = held.get((chain, token), 0) + max(int(received - flushed), 0)
    return held


def settleable_units(merchant_id: int) -> dict[tuple[str, str], int]:
    """Return what waits in forwarders and can be settled, in base units by chain and token: all but what escrow holds."""
    waiting: dict[tuple[str, str], int] = {}
    for figures in figures_of(merchant_id):
        place = (figures.chain, figures.token)
        waiting[place] = waiting.get(place, 0) + figures.in_forwarders
    for place, held in held_by_token(merchant_id).items():
        waiting[place] = max(waiting.get(place, 0) - held, 0)
    return waiting


@dataclass(frozen=True, slots=True)
class SumLine:
    """Totals in whole tokens."""

    purpose: str
    purpose_words: str
    chain: str
    chain_title: str
    token: str
    received: Decimal
    waiting: Decimal
    settled: Decimal

    @property
    def is_usd(self) -> bool:
        """Return whether a token is worth one USD, and so in the total."""
        return is_accepted(self.chain, self.token)


@dataclass(frozen=True, slots=True)
class SettlementSums:
    """A merchant's lines; and in USD their total, and the part held in escrow."""

    lines: Sequence[SumLine]
    received: Decimal
    waiting: Decimal
    settled: Decimal
    held: Decimal

    @property
    def is_waiting(self) -> bool:
        """Return whether anything waits, of whatever currency."""
        return any(line.waiting for line in self.lines)

    @property
    def others(self) -> Sequence[SumLine]:
        """Return the lines that are in no total."""
        return [line for line in self.lines if not line.is_usd]


def sums_of(seat: Seat) -> SettlementSums:
    """Return a merchant's totals; test mode has none, because nothing moves there."""
    if seat.mode != Mode.LIVE:
        return sums_from([])
    merchant_id = seat.merchant.pk
    return sums_from(figures_of(merchant_id), held=held_units(merchant_id))


def sums_from(found: Iterable[ForwarderTotals], *, held: int = 0) -> SettlementSums:
    """Return lines and their total; `held` is in base units."""
    lines, nothing = [_line(figures) for figures in found], Decimal(0)
    usd = [line for line in lines if line.is_usd]
    return SettlementSums(
        lines,
        received=sum((line.received for line in usd), nothing),
        waiting=sum((line.waiting for line in usd), nothing),
        settled=sum((line.settled for line in usd), nothing),
        held=from_units(held),
    )


def _line(figures: ForwarderTotals) -> SumLine:
    return SumLine(
        purpose=figures.purpose,
        purpose_words=gettext(PURPOSES[figures.purpose]),
        chain=figures.chain,
        chain_title=chain_spec(figures.chain).title,
        token=figures.token,
        received=from_units(figures.received),
        waiting=from_units(figures.in_forwarders),
        settled=from_units(figures.settled),
    )
