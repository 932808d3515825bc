"""What gas may cost."""

from typing import Any

import pytest

from settlements.errors import NoGasError
from settlements.gas.node import GasNode
from settlements.models import GasTransaction
from tests.settlements.calls import ask

pytestmark = pytest.mark.django_db


def test_the_days_limit_is_kept(node: GasNode, base_settings: Any) -> None:
    base_settings.GAS_DAILY_COINS = {"base": "0.0000001"}
    with pytest.raises(NoGasError, match="spent"):
        ask(node, "one")
    assert not GasTransaction.objects.exists()


def test_gas_that_is_too_dear_is_not_bought(node: GasNode, base_settings: Any) -> None:
    base_settings.GAS_MAX_GWEI = {"base": "0.000000001"}
    with pytest.raises(NoGasError, match="costs more"):
        ask(node, "one")
