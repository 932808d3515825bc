"""The timetable's tasks."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.gas.node import GasNode
from settlements.models import GasAccount, GasTransaction, Settlement
from settlements.sweeps.schedule import due_owners
from settlements.tasks import (
    check_books_task,
    note_outflows_task,
    refresh_gas_balances,
    sweep_due_task,
    tend_transactions,
)
from tests.settlements.chain import paid, read
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db


DAY = timedelta(hours=25)


def due(*, later: timedelta = timedelta()) -> list[int]:
    found = due_owners("base", "USDC", now=timezone.now() + later)
    assert {purpose for _, purpose in found} <= {ClaimKind.CHECKOUT}
    return sorted(merchant for merchant, _ in found)


def test_merchants_share_a_transaction(base_node: Anvil, base_gas_node: GasNode) -> None:
    paid(base_node, 25_000_000, 30_000_000)
    [poor] = paid(base_node, 5_000_000)
    sweep_due_task()
    assert Settlement.objects.count() == 2
    assert GasTransaction.objects.count() == 1
    assert not poor.settlement_items.exists()
    base_node.mine(6)
    tend_transactions()
    statuses = Settlement.objects.values_list("status", flat=True)
    assert set(statuses) == {"settled"}


def test_the_timetables_tasks_take_a_payment_to_its_merchant_and_prove_it(
    base_node: Anvil, base_gas_node: GasNode
) -> None:
    refresh_gas_balances()
    assert GasAccount.objects.get().balance_wei
    paid(base_node, 25_000_000)
    sweep_due_task()
    read(base_node)
    tend_transactions()
    note_outflows_task()
    [settlement] = Settlement.objects.all()
    assert (settlement.status, settlement.outflows.count()) == ("settled", 1)
    assert check_books_task() == 0
    assert due(later=DAY) == []


def test_without_a_gas_key_nothing_is_begun(base_node: Anvil, base_settings: Any) -> None:
    base_settings.GAS_KEYS = []
    paid(base_node, 25_000_000)
    refresh_gas_balances()
    sweep_due_task()
    tend_transactions()
    assert not Settlement.objects.exists()
    assert not GasAccount.objects.exists()
