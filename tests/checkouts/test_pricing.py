"""What money is worth in a checkout: token by token first, then value; and what is left of a price in a token."""

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT, needed_units
from checkouts.pricing import units_to_send, units_worth, value_units
from gateway.core.currencies import price_worth
from gateway.core.money import to_units
from wallets.networks import is_of_dollars

PRICE, DUE = 25_030_000, 23_000_000
cents = st.integers(int(MIN_AMOUNT * 100), int(MAX_AMOUNT * 100)).map(lambda number: Decimal(number) / 100)
rates = st.integers(200_000, 5_000_000).map(lambda number: Decimal(number).scaleb(-6))
parts = st.lists(st.integers(0, 10**13), max_size=6)


def worth(*money: tuple[str, int], price: int = PRICE, due: int = DUE) -> int:
    return value_units(money, price_units=price, dues={"EURC": due})


def due_of(price: Decimal, rate: Decimal) -> int:
    """The due of a price in USD, as a new checkout has it."""
    return to_units(price_worth(price, rate, "EUR"))


@given(st.lists(st.tuples(st.sampled_from(["USDC", "USDT", "USDbC"]), st.integers(0, 2**256))))
def test_dollars_are_added_up_as_they_are(money: Sequence[tuple[str, int]]) -> None:
    assert value_units(money, price_units=PRICE, dues={}) == sum(units for _, units in money)


@given(cents, rates, st.data())
def test_the_whole_due_is_exactly_the_price_in_however_many_parts(
    price: Decimal, rate: Decimal, data: st.DataObject
) -> None:
    due = due_of(price, rate)
    cuts = sorted(data.draw(st.lists(st.integers(0, due), max_size=5)))
    sent = [after - before for before, after in zip([0, *cuts], [*cuts, due], strict=True)]
    assert worth(*(("EURC", units) for units in sent), price=to_units(price), due=due) == to_units(price)


def test_parts_that_are_converted_one_by_one_would_lose_millionths() -> None:
    halves = [("EURC", 11_500_001), ("EURC", 11_499_999)]
    assert sum(worth(half) for half in halves) < worth(*halves) == PRICE


@given(cents, rates)
def test_no_cent_is_asked_too_little_or_a_whole_one_too_much(price: Decimal, rate: Decimal) -> None:
    due = price_worth(price, rate, "EUR")
    assert due * rate >= price > (due - Decimal("0.01")) * rate


@given(cents, rates)
def test_a_unit_less_than_the_tolerance_does_not_pay_and_the_least_that_is_within_it_does(
    price: Decimal, rate: Decimal
) -> None:
    due, needed = due_of(price, rate), needed_units(price)
    least = -(-needed * due // to_units(price))
    assert worth(("EURC", least), price=to_units(price), due=due) >= needed
    assert worth(("EURC", least - 1), price=to_units(price), due=due) < needed


@given(cents, rates, parts, parts)
def test_what_is_asked_for_brings_the_money_to_the_price_and_a_unit_less_does_not(
    price: Decimal, rate: Decimal, dollars: list[int], euros: list[int]
) -> None:
    units, due = to_units(price), due_of(price, rate)
    money = [*(("USDC", one) for one in dollars), *(("EURC", one) for one in euros)]
    for token in ("EURC", "USDC"):
        rest = units_to_send(token, money, price_units=units, dues={"EURC": due})
        assert worth(*money, (token, rest), price=units, due=due) >= units
        assert rest == 0 or worth(*money, (token, rest - 1), price=units, due=due) < units


def test_the_rest_of_euros_is_what_is_left_of_the_due() -> None:
    dues = {"EURC": DUE}
    assert units_to_send("EURC", [("EURC", 10_000_000)], price_units=PRICE, dues=dues) == 13_000_000
    # 15.03 USD of 25.03 are 13.811026 EURC and a part of a unit.
    assert units_to_send("EURC", [("USDC", 10_000_000)], price_units=PRICE, dues=dues) == 13_811_027
    assert units_to_send("USDC", [("EURC", 13_811_027)], price_units=PRICE, dues=dues) == 10_000_000


@given(cents, rates, parts, parts)
def test_more_money_is_never_worth_less(price: Decimal, rate: Decimal, some: list[int], more: list[int]) -> None:
    units, due = to_units(price), due_of(price, rate)
    few = [("EURC", one) for one in some]
    assert worth(*few, price=units, due=due) <= worth(*few, *(("EURC", one) for one in more), price=units, due=due)


@pytest.mark.parametrize("token", ["EURC", "EURT"])
def test_a_euro_without_a_due_is_worth_nothing(token: str) -> None:
    assert not is_of_dollars(token)
    assert value_units([(token, 10**9), ("USDC", 5)], price_units=PRICE, dues={}) == 5


@given(cents, rates, st.integers(0, 10**12))
def test_a_part_in_a_token_is_worth_no_more_than_it_was(price: Decimal, rate: Decimal, value: int) -> None:
    units, due = to_units(price), due_of(price, rate)
    assert worth(("EURC", units_worth(value, due, price_units=units)), price=units, due=due) <= value
    assert units_worth(units, due, price_units=units) == due
