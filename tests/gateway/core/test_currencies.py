"""Prices in other currencies: read and written exactly, converted without a cent for or against anybody."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.currencies import (
    DECIMALS,
    format_price,
    format_rate,
    parse_price,
    price_at,
    readable_price,
    readable_rate,
    round_price,
    units_at,
    usd_at,
    usd_units_at,
)
from gateway.core.money import CENT, ENDLESS, to_units

CURRENCIES = st.sampled_from(["EUR", "GBP", "BRL", "JPY", "KRW", "VND"])
RATES = st.decimals("0.000001", "1000", places=12)
MARGINS = st.decimals("0", "0.05", places=4)
WHOLE = st.integers(1, 10**9)


def price_of(number: int, currency: str) -> Decimal:
    return Decimal(number).scaleb(-DECIMALS[currency])


@pytest.mark.parametrize(
    ("text", "currency", "price"),
    [
        ("23.00", "EUR", Decimal("23.00")),
        ("23", "EUR", Decimal("23.00")),
        ("0.5", "GBP", Decimal("0.50")),
        ("1200", "JPY", Decimal(1200)),
        ("0001200", "JPY", Decimal(1200)),
    ],
)
def test_a_price_is_read_with_its_currencys_decimals(text: str, currency: str, price: Decimal) -> None:
    assert parse_price(text, currency) == price


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        ("23.001", "EUR"),
        ("1200.0", "JPY"),
        ("1200.00", "JPY"),
        ("1,200", "JPY"),
        ("-1", "EUR"),
        ("1e3", "EUR"),
        ("", "EUR"),
        (" 23", "EUR"),
        ("\u0661", "EUR"),
    ],
)
def test_anything_else_is_no_price(text: str, currency: str) -> None:
    assert parse_price(text, currency) is None


@pytest.mark.parametrize(("text", "currency"), [("9" * 16, "JPY"), ("9" * 400, "EUR"), ("9" * 16 + ".99", "GBP")])
def test_a_price_with_more_digits_than_any_column_holds_is_endless(text: str, currency: str) -> None:
    assert parse_price(text, currency) == ENDLESS


def test_prices_and_rates_are_written_for_programs_and_for_people() -> None:
    assert format_price(Decimal(23), "EUR") == "23.00"
    assert format_price(Decimal("1200.00"), "JPY") == "1200"
    assert readable_price(Decimal(1250), "EUR") == "1,250.00"
    assert readable_price(Decimal("1200.00"), "JPY") == "1,200"
    assert format_rate(Decimal("1.088260000000")) == "1.088260"
    assert format_rate(Decimal("0.000038123456")) == "0.000038123456"
    assert readable_rate(Decimal("1.088260000000")) == "1.0883"
    assert readable_rate(Decimal("0.006666666667")) == "0.0066667"
    assert readable_rate(Decimal("150.123456")) == "150.12"


@pytest.mark.parametrize(
    ("amount", "currency", "rounded"),
    [
        ("60.5", "JPY", "61"),
        ("60.49", "JPY", "60"),
        ("0.005", "EUR", "0.01"),
        ("1.0049", "EUR", "1.00"),
        ("2", "USD", "2.00"),
    ],
)
def test_a_sum_is_rounded_to_its_currencys_decimals_half_up(amount: str, currency: str, rounded: str) -> None:
    assert str(round_price(Decimal(amount), currency)) == rounded


def test_every_currency_has_two_decimals_or_none() -> None:
    assert set(DECIMALS.values()) == {0, 2}
    assert not {"BHD", "KWD", "TND"} & set(DECIMALS)


@given(currency=CURRENCIES, number=WHOLE, rate=RATES, margin=MARGINS)
def test_the_conversion_is_never_a_cent_for_or_against_anybody(
    currency: str, number: int, rate: Decimal, margin: Decimal
) -> None:
    price = price_of(number, currency)
    usd = usd_at(price, rate, margin)
    # As integers, independently of the arithmetic under test.
    exact = number * int(rate.scaleb(12)) * int((1 + margin).scaleb(4))
    scale = 10 ** (DECIMALS[currency] + 12 + 4 - 2)
    assert usd == Decimal(-(-exact // scale)).scaleb(-2)
    assert usd == usd.quantize(CENT)


@given(currency=CURRENCIES, number=WHOLE, cents=WHOLE, parts=st.lists(st.integers(0, 10**9), max_size=5))
def test_parts_of_a_price_are_never_worth_more_than_the_whole(
    currency: str, number: int, cents: int, parts: list[int]
) -> None:
    price, units = price_of(number, currency), to_units(Decimal(cents).scaleb(-2))
    assert units_at(price, price, units) == units
    left, worth = number, 0
    for part in parts:
        taken = min(part, left)
        left -= taken
        worth += units_at(price_of(taken, currency), price, units)
    assert worth + units_at(price_of(left, currency), price, units) <= units


@given(currency=CURRENCIES, number=WHOLE, cents=WHOLE)
def test_what_was_paid_in_full_is_the_whole_price(currency: str, number: int, cents: int) -> None:
    price, units = price_of(number, currency), to_units(Decimal(cents).scaleb(-2))
    assert price_at(units, price, units, currency) == price
    assert price_at(0, price, units, currency) == 0
    assert price_at(units - 1, price, units, currency) < price


UNITS = st.integers(1, 10**24)


@given(st.lists(UNITS, min_size=1, max_size=8), RATES)
def test_units_are_worth_no_more_than_at_the_rate_and_less_by_under_a_unit(parts: list[int], rate: Decimal) -> None:
    whole = usd_units_at(sum(parts), rate)
    assert 0 <= sum(parts) * Fraction(rate) - whole < 1
    # The reason for adding up first: each part may lose a unit.
    assert whole - len(parts) < sum(usd_units_at(part, rate) for part in parts) <= whole


@given(UNITS)
def test_a_token_of_a_dollar_is_worth_its_own_units(units: int) -> None:
    assert usd_units_at(units, Decimal(1)) == units
