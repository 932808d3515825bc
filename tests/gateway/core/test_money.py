from decimal import Context, Decimal, Inexact

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core import money
from gateway.core.money import (
    format_token,
    format_units,
    format_usd,
    from_units,
    parse_usd,
    readable,
    round_up_to_cent,
    to_units,
)

MICRO = Decimal("0.000001")


@given(st.integers(min_value=0, max_value=2**256))
def test_units_survive_the_round_trip_exactly(units):
    assert to_units(from_units(units)) == units


def test_by_way_of_a_float_units_would_be_lost():
    """The negative control of the test above: a float has no eighteen digits."""
    units = 10**17 + 1
    assert to_units(from_units(units)) == units
    assert to_units(Decimal(float(from_units(units))).quantize(MICRO)) != units


def test_without_the_trap_an_amount_would_be_rounded_in_silence(monkeypatch):
    """The negative control of the tests below."""
    monkeypatch.setattr(money, "EXACT", Context(prec=100))
    assert to_units(Decimal("1.0000001")) == 1_000_000


def test_more_decimals_than_the_token_has_are_refused_not_rounded():
    with pytest.raises(Inexact):
        to_units(Decimal("1.0000001"))


@pytest.mark.parametrize(("text", "amount"), [("25", "25.00"), ("25.5", "25.50"), ("0.10", "0.10"), ("007.01", "7.01")])
def test_plain_digits_are_an_amount(text, amount):
    assert parse_usd(text) == Decimal(amount)


@pytest.mark.parametrize(
    "text", ["", " 25", "25 ", "+25", "-25", "1e3", "1,000.00", "25.001", ".5", "5.", "٢٥", "NaN", "0x1"]
)
def test_anything_but_plain_ascii_digits_is_refused(text):
    assert parse_usd(text) is None


def test_amounts_are_written_with_their_fixed_decimals():
    assert format_usd(Decimal(25)) == "25.00"
    assert format_token(from_units(25_003_700)) == "25.003700"
    assert format_units(25_003_700) == format_units(Decimal(25_003_700)) == "25.003700"


def test_no_part_of_a_unit_is_rounded_away():
    with pytest.raises(Inexact):
        format_units(Decimal("1.5"))


def test_rounding_up_never_asks_for_too_little():
    assert round_up_to_cent(Decimal("1.001")) == Decimal("1.01")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0.00"),
        ("25", "25.00"),
        ("1250.0045", "1,250.0045"),
        ("1234567.100000", "1,234,567.10"),
        ("-0.5", "-0.50"),
        ("-1250.000001", "-1,250.000001"),
    ],
)
def test_an_amount_is_written_in_one_way_for_readers(amount, text):
    assert readable(Decimal(amount)) == text
