"""The choices accounts know."""

from decimal import Decimal

from accounts.states import TIER_RATES, FeeTier


def test_larger_plans_cost_less_and_a_custom_one_has_its_own_rate() -> None:
    rates = [TIER_RATES[tier] for tier in FeeTier if tier is not FeeTier.CUSTOM]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == Decimal("0.015")
    assert FeeTier.CUSTOM not in TIER_RATES
