"""What a transaction may pay for its gas."""

import pytest

from settlements.gas.fees import Fees, Prices, first_fees, raised_fees

PRICES = Prices(base_fee=100, tip=10)


def test_the_first_fees_last_while_the_base_fee_doubles() -> None:
    assert first_fees(PRICES, most=1_000) == Fees(max_fee=210, priority_fee=10)


def test_fees_are_never_above_the_most() -> None:
    assert first_fees(PRICES, most=105) == Fees(max_fee=105, priority_fee=5)
    assert first_fees(PRICES, most=99) is None


def test_what_replaces_an_attempt_pays_an_eighth_more_at_least() -> None:
    raised = raised_fees(Fees(800, 80), PRICES, most=10_000)
    assert raised == Fees(900, 90)


def test_what_replaces_an_attempt_follows_the_prices() -> None:
    raised = raised_fees(Fees(100, 1), PRICES, most=10_000)
    assert raised == Fees(210, 10)


@pytest.mark.parametrize("most", [899, 0])
def test_no_attempt_is_replaced_beyond_the_most(most: int) -> None:
    assert raised_fees(Fees(800, 80), PRICES, most=most) is None


def test_the_smallest_fee_grows_too() -> None:
    raised = raised_fees(Fees(1, 0), Prices(0, 0), most=10)
    assert raised == Fees(2, 1)
