"""Whether what sources say is good enough to convert a price: fresh, confirmed by a second source, and near the daily rate. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

DAILY_BOUND: Final = Decimal("0.05")
"""How far a rate may be from the last daily one."""
DAILY_LASTS: Final = timedelta(days=7)
"""The European Central Bank publishes nothing from Maundy Thursday to Easter Tuesday: five days and a half."""
LARGE_USD: Final = Decimal(10_000)
LARGE_AGREEMENT: Final = Decimal("0.005")
"""How far two sources may be apart for a price of LARGE_USD or more."""
DEPEGGED: Final = Decimal("0.98")
"""Below this price in USD, said by two sources, a token is not offered."""
SKEW: Final = timedelta(seconds=60)
"""How far clocks may be apart: a reading of later than that is never fresh."""


class SourceRate(NamedTuple):
    """What a source said: USD for one unit, and when that was so."""

    source: str
    rate: Decimal
    taken_at: datetime


class RateRefusal(StrEnum):
    """Why there is no rate."""

    SILENT = "silent"
    """No source is fresh."""
    ALONE = "alone"
    """One source is fresh, and no other can confirm it."""
    DISAGREE = "disagree"
    DAILY_MISSING = "daily_missing"
    DAILY_FAR = "daily_far"


@dataclass(frozen=True, slots=True)
class Policy:
    """How rates are decided. `sources` are names in the operator's order, without the daily one; `daily` is that one's, or empty.

    `agreement` is a share: 0.01 is one per cent.
    """

    sources: tuple[str, ...]
    daily: str
    most_age: timedelta
    agreement: Decimal
    is_single_allowed: bool

    def agreement_for(self, usd: Decimal) -> Decimal:
        """Return how far sources may be apart for a price of so many USD."""
        return min(self.agreement, LARGE_AGREEMENT) if usd >= LARGE_USD else self.agreement


@dataclass(frozen=True, slots=True)
class Agreed:
    """A rate that may be used: of `evidence`, the first reading's. The second confirms it; without one, a single source was allowed."""

    evidence: tuple[SourceRate, ...]

    @property
    def rate(self) -> Decimal:
        """USD for one unit."""
        return self.evidence[0].rate

    @property
    def taken_at(self) -> datetime:
        """When the rate was so."""
        return self.evidence[0].taken_at


def agree(
    readings: Sequence[SourceRate], policy: Policy, *, now: datetime, agreement: Decimal | None = None
) -> Agreed | RateRefusal:
    """Decide a currency's rate from the last word of each source.

    The first source of the policy that is fresh gives the rate, if another fresh one is within `agreement` of it (the policy's
    unless named), and the last daily rate within DAILY_BOUND. No older rate, and no mean of several, is ever used.
    """
    by_source = {one.source: one for one in readings}
    fresh = [one for name in policy.sources if (one := by_source.get(name)) and _is_fresh(one, policy.most_age, now)]
    if not fresh:
        return RateRefusal.SILENT
    first, *others = fresh
    bound = policy.agreement if agreement is None else agreement
    second = next((one for one in others if _is_near(one.rate, first.rate, bound)), None)
    if second is None and others:
        return RateRefusal.DISAGREE
    if second is None and not policy.is_single_allowed:
        return RateRefusal.ALONE
    if policy.daily:
        daily = by_source.get(policy.daily)
        if daily is None or not _is_fresh(daily, DAILY_LASTS, now):
            return RateRefusal.DAILY_MISSING
        if not _is_near(first.rate, daily.rate, DAILY_BOUND):
            return RateRefusal.DAILY_FAR
    return Agreed((first,) if second is None else (first, second))


def depegged(readings: Mapping[str, Sequence[SourceRate]], policy: Policy, *, now: datetime) -> frozenset[str]:
    """Return the tokens that two fresh sources price below DEPEGGED, of readings by token."""
    return frozenset(
        token
        for token, told in readings.items()
        if sum(one.rate < DEPEGGED and _is_fresh(one, policy.most_age, now) for one in told) > 1
    )


def _is_fresh(reading: SourceRate, most_age: timedelta, now: datetime) -> bool:
    # A time in the future is a broken clock's, and would stay fresh for as long as it is ahead.
    return -SKEW <= now - reading.taken_at <= most_age


def _is_near(one: Decimal, other: Decimal, share: Decimal) -> bool:
    return abs(one - other) <= share * min(one, other)
