"""The calls that forwarders are emptied by."""

from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.gas.node import GasNode
from settlements.models import GasTransaction, Settlement
from settlements.states import SettlementStatus
from settlements.sweeps.calls import MOST_ITEMS
from settlements.sweeps.service import sweep
from tests.factories import make_merchant
from tests.settlements.chain import WAITING, paid_together, settle

pytestmark = pytest.mark.django_db


# Of any transaction (EIP-7825).
MOST_GAS = 2**24


def test_a_full_batch_of_a_token_with_a_block_list_fits_its_gas(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    base_settings.GAS_DAILY_COINS = {"base": "1"}
    paid_together(base_node, MOST_ITEMS, merchant=make_merchant(), units=250_000_000_000 // 150)
    assert len(sweep(WAITING, node=base_gas_node, now=timezone.now())) == MOST_ITEMS
    settle(base_gas_node, base_node)
    [made] = GasTransaction.objects.all()
    assert made.gas_used is not None
    assert MOST_ITEMS * 70_000 < made.gas_used < made.gas_limit < MOST_GAS
    statuses = Settlement.objects.values_list("status", flat=True)
    assert set(statuses) == {SettlementStatus.SETTLED}
