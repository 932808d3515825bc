from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts.pricing import DUST_UNITS, MAX_AMOUNT, MIN_AMOUNT, needed_units, overpaid_above_units, tolerance

prices = st.decimals(MIN_AMOUNT, MAX_AMOUNT, places=2)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        ("0.10", "0.05"),
        ("4.99", "0.05"),
        ("5.00", "0.05"),
        ("5.01", "0.0501"),
        ("25.00", "0.25"),
        ("100.01", "1.0001"),
        ("1000000.00", "10000"),
    ],
)
def test_the_tolerance_is_one_percent_and_never_less_than_five_cents(amount, expected):
    assert tolerance(Decimal(amount)) == Decimal(expected)


@pytest.mark.parametrize(
    ("amount", "needed", "overpaid_above"),
    [
        ("0.10", 50_000, 150_000),
        ("5.00", 4_950_000, 5_050_000),
        ("5.01", 4_959_900, 5_060_100),
        ("25.00", 24_750_000, 25_250_000),
        ("100.01", 99_009_900, 101_010_100),
        ("1000000.00", 990_000_000_000, 1_010_000_000_000),
    ],
)
def test_both_limits_are_exact_to_the_base_unit(amount, needed, overpaid_above):
    assert needed_units(Decimal(amount)) == needed
    assert overpaid_above_units(Decimal(amount)) == overpaid_above


@given(prices)
def test_the_limits_lie_the_same_integer_distance_from_every_price(amount):
    cents = int(amount * 100)
    price = cents * 10_000
    allowance = max(cents * 100, 50_000)
    assert needed_units(amount) == price - allowance
    assert overpaid_above_units(amount) == price + allowance


@given(prices)
def test_no_price_is_paid_by_nothing_or_by_dust(amount):
    assert needed_units(amount) > DUST_UNITS


def test_dust_ends_at_one_cent():
    assert DUST_UNITS == 10_000
