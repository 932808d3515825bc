"""Keys of gas accounts."""

from typing import Any

import pytest

from settlements.errors import NoGasError
from settlements.gas.node import GasNode
from settlements.models import GasAccount
from tests.settlements.calls import ask

pytestmark = pytest.mark.django_db


def test_without_a_key_nothing_is_sent(base_gas_node: GasNode, base_settings: Any) -> None:
    base_settings.GAS_KEYS = []
    with pytest.raises(NoGasError, match="no gas key"):
        ask(base_gas_node, "one")
    assert not GasAccount.objects.exists()
