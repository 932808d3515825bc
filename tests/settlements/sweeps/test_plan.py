"""What is settled next."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.gas.node import GasNode
from settlements.models import GasTransaction
from settlements.states import SettlementStatus
from settlements.sweeps.plan import waiting_items, write_batch
from settlements.sweeps.service import UNSENT_FOR, resume, sweep
from tests.settlements.chain import WAITING, paid, settle

pytestmark = pytest.mark.django_db


def test_a_forwarder_is_in_one_open_settlement(base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    items = waiting_items(WAITING, now=timezone.now())
    write_batch(WAITING, items, now=timezone.now())
    with pytest.raises(IntegrityError):
        write_batch(WAITING, items, now=timezone.now())


def test_a_batch_that_was_never_sent_is_sent_by_the_next_run(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    now = timezone.now()
    [settlement] = write_batch(WAITING, waiting_items(WAITING, now=now), now=now)
    resume("base", node=base_gas_node, now=timezone.now())
    settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED


def test_a_batch_that_cannot_be_sent_for_a_day_sets_its_forwarders_free(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    paid(base_node, 25_000_000)
    base_settings.GAS_MAX_GWEI = {"base": "0.000000001"}
    [settlement] = sweep(WAITING, node=base_gas_node, now=timezone.now())
    assert settlement.status == SettlementStatus.PENDING
    later = timezone.now() + UNSENT_FOR + timedelta(minutes=1)
    assert resume("base", node=base_gas_node, now=later) == 1
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.FAILED
    assert len(waiting_items(WAITING, now=later)) == 1


def test_gas_that_became_dear_before_it_was_sent_is_not_paid(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    paid(base_node, 25_000_000)
    now = timezone.now()
    [settlement] = write_batch(WAITING, waiting_items(WAITING, now=now), now=now)
    base_settings.GAS_COIN_USD = {"base": "100000000"}
    resume("base", node=base_gas_node, now=now)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.FAILED
    assert "gas would cost too much" in settlement.error
    assert not GasTransaction.objects.exists()
