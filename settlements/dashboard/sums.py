"""The three totals on pages: received, still in forwarders, settled. Every line adds up, and so does the total."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounts.states import Mode
from accounts.team.seats import Seat
from gateway.core.money import from_units
from settlements.books.figures import Figures, figures_of, held_units
from settlements.dashboard.words import PURPOSES
from wallets.networks import chain_spec


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


@dataclass(frozen=True, slots=True)
class Sums:
    """A merchant's lines, their total, and the part held in escrow."""

    lines: Sequence[SumLine]
    received: Decimal
    waiting: Decimal
    settled: Decimal
    held: Decimal


def sums_of(seat: Seat) -> Sums:
    """Return a merchant's totals; test mode has none, because nothing moves there."""
    if seat.mode != Mode.LIVE:
        return sums_from([])
    merchant_id = seat.merchant.pk
    return sums_from(figures_of(merchant_id), held=held_units(merchant_id))


def sums_from(found: Iterable[Figures], *, held: int = 0) -> Sums:
    """Return lines and their total; `held` is in base units."""
    lines, nothing = [_line(figures) for figures in found], Decimal(0)
    return Sums(
        lines,
        received=sum((line.received for line in lines), nothing),
        waiting=sum((line.waiting for line in lines), nothing),
        settled=sum((line.settled for line in lines), nothing),
        held=from_units(held),
    )


def _line(figures: Figures) -> SumLine:
    return SumLine(
        purpose=figures.purpose,
        purpose_words=PURPOSES[figures.purpose],
        chain=figures.chain,
        chain_title=chain_spec(figures.chain).title,
        token=figures.token,
        received=from_units(figures.received),
        waiting=from_units(figures.in_forwarders),
        settled=from_units(figures.settled),
    )
