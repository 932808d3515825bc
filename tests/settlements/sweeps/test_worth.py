"""What costs more gas than it is worth waits."""

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.gas.node import GasNode
from settlements.models import SettlementItem
from settlements.sweeps.service import sweep
from tests.settlements.chain import WAITING, paid

pytestmark = pytest.mark.django_db


def test_what_costs_more_than_it_is_worth_waits(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 10_000)
    assert sweep(WAITING, node=base_gas_node, now=timezone.now()) == []
    assert not SettlementItem.objects.exists()
