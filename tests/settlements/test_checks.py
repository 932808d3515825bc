"""Settings about gas that cannot be used are named before anything runs."""

from typing import Any

import pytest

from settlements.checks import gas_keys_can_be_read, limits_of_gas_are_amounts


def test_the_defaults_are_in_order() -> None:
    assert gas_keys_can_be_read() + limits_of_gas_are_amounts() == []


def test_a_key_that_is_none_is_refused_and_not_repeated(settings: Any) -> None:
    settings.GAS_KEYS = ["0xsecret"]
    [found] = gas_keys_can_be_read()
    assert found.id == "settlements.E001"
    assert "secret" not in f"{found.msg}{found.hint}"


@pytest.mark.parametrize("amount", ["", "much", "-1", "NaN", "Infinity"])
def test_a_limit_that_is_no_amount_is_named(settings: Any, amount: str) -> None:
    settings.GAS_DAILY_COINS = {"base": amount}
    settings.SWEEP_MOST_COST = amount
    messages = [found.msg for found in limits_of_gas_are_amounts()]
    assert messages == [
        "GAS_DAILY_COINS of base is no amount.",
        "SWEEP_MOST_COST is no amount.",
    ]
