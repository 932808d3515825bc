"""What gas may cost."""

from typing import Any

import pytest

from settlements.errors import NoGasError
from settlements.gas.node import GasNode
from settlements.gas.policy import coin_usd, daily_coins, gas_policy
from settlements.models import GasTransaction
from tests.settlements.calls import ask

pytestmark = pytest.mark.django_db


def test_solana_has_a_days_limit_and_no_price_of_gas_in_wei(settings: Any) -> None:
    settings.GAS_MAX_GWEI = settings.GAS_COIN_USD = {"solana": "1"}
    assert daily_coins("solana") > 0
    for ask_for in (gas_policy, coin_usd):
        with pytest.raises(KeyError, match="solana"):
            ask_for("solana")


def test_the_days_limit_is_kept(base_gas_node: GasNode, base_settings: Any) -> None:
    base_settings.GAS_DAILY_COINS = {"base": "0.0000001"}
    with pytest.raises(NoGasError, match="spent"):
        ask(base_gas_node, "one")
    assert not GasTransaction.objects.exists()


def test_gas_that_is_too_dear_is_not_bought(base_gas_node: GasNode, base_settings: Any) -> None:
    base_settings.GAS_MAX_GWEI = {"base": "0.000000001"}
    with pytest.raises(NoGasError, match="costs more"):
        ask(base_gas_node, "one")
