"""When a rate is good enough: fresh, confirmed, near the daily one. Otherwise there is none, however useful a guess would be."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rates.rule import LARGE_USD, Agreed, Policy, RateRefusal, SourceRate, agree, depegged
from tests.factories import NOON

POLICY = Policy(
    sources=("kraken", "coinbase", "own"),
    daily="",
    most_age=timedelta(seconds=180),
    agreement=Decimal("0.01"),
    is_single_allowed=False,
)


def said(source: str, rate: str, *, at: datetime = NOON, age: float = 10) -> SourceRate:
    return SourceRate(source, Decimal(rate), at - timedelta(seconds=age))


def policy(**changed: Any) -> Policy:
    values = {name: getattr(POLICY, name) for name in Policy.__slots__}
    return Policy(**values | changed)


def answer(*readings: SourceRate, by: Policy = POLICY) -> Agreed | RateRefusal:
    return agree(readings, by, now=NOON)


def test_the_first_fresh_source_gives_the_rate_and_another_confirms_it() -> None:
    found = answer(said("coinbase", "1.0884"), said("kraken", "1.0882"))
    assert isinstance(found, Agreed)
    assert [one.source for one in found.evidence] == ["kraken", "coinbase"]
    assert (found.rate, found.taken_at) == (Decimal("1.0882"), NOON - timedelta(seconds=10))


def test_a_silent_first_source_is_replaced_by_the_next_two() -> None:
    found = answer(said("kraken", "1.0882", age=181), said("coinbase", "1.0884"), said("own", "1.0885"))
    assert isinstance(found, Agreed)
    assert [one.source for one in found.evidence] == ["coinbase", "own"]


@pytest.mark.parametrize(
    ("readings", "refusal"),
    [
        ((), RateRefusal.SILENT),
        ((said("kraken", "1.09", age=181), said("coinbase", "1.09", age=3600)), RateRefusal.SILENT),
        ((said("kraken", "1.09"),), RateRefusal.ALONE),
        ((said("kraken", "1.09"), said("coinbase", "1.09", age=181)), RateRefusal.ALONE),
        ((said("kraken", "1.09"), said("coinbase", "1.1227")), RateRefusal.DISAGREE),
        # The first source lies, and is not outvoted: nobody knows who lies.
        ((said("kraken", "1.2"), said("coinbase", "1.09"), said("own", "1.09")), RateRefusal.DISAGREE),
        # A broken clock would be fresh for ever.
        ((said("kraken", "1.09", age=-61), said("coinbase", "1.09", age=-61)), RateRefusal.SILENT),
        # A source that was taken out of the settings says nothing.
        ((said("gone", "1.09"), said("other", "1.09")), RateRefusal.SILENT),
    ],
)
def test_silence_and_disagreement_give_no_rate(readings: tuple[SourceRate, ...], refusal: RateRefusal) -> None:
    assert answer(*readings) is refusal


def test_a_single_source_is_enough_only_where_the_operator_says_so() -> None:
    lone = policy(is_single_allowed=True)
    found = answer(said("kraken", "1.09"), by=lone)
    assert isinstance(found, Agreed)
    assert len(found.evidence) == 1
    assert answer(said("kraken", "1.09"), said("coinbase", "1.2"), by=lone) is RateRefusal.DISAGREE


def test_sources_may_be_one_per_cent_apart_and_not_more() -> None:
    assert isinstance(answer(said("kraken", "1.00"), said("coinbase", "1.01")), Agreed)
    assert answer(said("kraken", "1.00"), said("coinbase", "1.010001")) is RateRefusal.DISAGREE
    assert answer(said("kraken", "1.010001"), said("coinbase", "1.00")) is RateRefusal.DISAGREE


def test_large_prices_need_closer_sources() -> None:
    assert POLICY.agreement_for(LARGE_USD - 1) == Decimal("0.01")
    assert POLICY.agreement_for(LARGE_USD) == Decimal("0.005")
    apart = (said("kraken", "1.000"), said("coinbase", "1.007"))
    assert agree(apart, POLICY, now=NOON, agreement=POLICY.agreement_for(LARGE_USD)) is RateRefusal.DISAGREE


@pytest.mark.parametrize(
    ("daily", "refusal"),
    [
        (None, RateRefusal.DAILY_MISSING),
        (said("ecb", "1.09", age=8 * 86_400), RateRefusal.DAILY_MISSING),
        (said("ecb", "1.03", age=86_400), RateRefusal.DAILY_FAR),
        (said("ecb", "1.15", age=86_400), RateRefusal.DAILY_FAR),
        (said("ecb", "1.05", age=5.5 * 86_400), None),
    ],
)
def test_two_sources_that_lie_together_are_bounded_by_the_daily_rate(
    daily: SourceRate | None, refusal: RateRefusal | None
) -> None:
    readings = [said("kraken", "1.09"), said("coinbase", "1.09"), *([daily] if daily else [])]
    found = answer(*readings, by=policy(daily="ecb"))
    assert found is refusal if refusal else isinstance(found, Agreed)


RATE = st.decimals("0.5", "2", places=6)


@given(
    readings=st.lists(
        st.tuples(st.sampled_from(["kraken", "coinbase", "own"]), RATE, st.integers(-300, 400)), max_size=6
    )
)
def test_whatever_is_said_a_rate_is_fresh_and_confirmed(readings: list[tuple[str, Decimal, int]]) -> None:
    found = answer(*(SourceRate(name, rate, NOON - timedelta(seconds=age)) for name, rate, age in readings))
    if isinstance(found, Agreed):
        first, second = found.evidence
        assert first.source != second.source
        assert abs(first.rate - second.rate) <= Decimal("0.01") * min(first.rate, second.rate)
        assert all(-60 <= (NOON - one.taken_at).total_seconds() <= 180 for one in found.evidence)


def test_a_token_lost_its_peg_once_two_fresh_sources_say_so() -> None:
    told = {
        # Coinbase says one dollar for USDC whatever happens, and saves it from nothing.
        "USDC": [said("kraken", "0.97"), said("coinbase", "1"), said("bitstamp", "0.979")],
        "USDT": [said("kraken", "0.5"), said("coinbase", "0.98")],
    }
    assert depegged(told, POLICY, now=NOON) == {"USDC"}
    assert depegged(told, POLICY, now=NOON + timedelta(minutes=4)) == frozenset()
