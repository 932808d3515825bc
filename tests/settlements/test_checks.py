"""Settings about gas that cannot be used are named before anything runs."""

from typing import Any

import pytest
from base58 import b58encode
from solders.keypair import Keypair

from settlements.checks import gas_keys_can_be_read, limits_of_gas_are_amounts, solana_gas_keys_can_be_read


def test_the_defaults_are_in_order() -> None:
    found = gas_keys_can_be_read() + solana_gas_keys_can_be_read()
    assert found + limits_of_gas_are_amounts() == []


def test_a_key_that_is_none_is_refused_and_not_repeated(settings: Any) -> None:
    settings.GAS_KEYS = ["0xsecret"]
    [found] = gas_keys_can_be_read()
    assert found.id == "settlements.E001"
    assert "secret" not in f"{found.msg}{found.hint}"


def keys_of_solana() -> list[str]:
    """A good one, and others: a half, one too long, one whose halves do not belong together, and text."""
    good, other = bytes(Keypair()), bytes(Keypair())
    wrong = [good[:32], good + b"1", good[:32] + other[32:], bytes(64)]
    told = [b58encode(one).decode() for one in (good, *wrong)]
    return [*told, "0OIl", "é", f" {told[0]}", "7" * 5_000]


def test_a_solana_key_that_is_none_is_refused_and_not_repeated(
    settings: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    good, *wrong = keys_of_solana()
    settings.GAS_KEYS_SOLANA = [good]
    assert solana_gas_keys_can_be_read() == []
    for key in wrong:
        settings.GAS_KEYS_SOLANA = [good, key]
        [found] = solana_gas_keys_can_be_read()
        assert found.id == "settlements.E003"
        told = f"{found.msg}{found.hint}"
        assert key not in told
        assert key not in "".join(capfd.readouterr())


@pytest.mark.parametrize("amount", ["", "much", "-1", "NaN", "Infinity"])
def test_a_limit_that_is_no_amount_is_named(settings: Any, amount: str) -> None:
    settings.GAS_DAILY_COINS = {"base": amount}
    settings.SWEEP_MOST_COST = amount
    messages = [found.msg for found in limits_of_gas_are_amounts()]
    assert messages == ["GAS_DAILY_COINS of base is not an amount.", "SWEEP_MOST_COST is not an amount."]
