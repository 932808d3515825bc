"""Whenever a process that empties forwarders is killed, the next one goes on, and money moves once."""

import signal

import pytest
from django.utils import timezone

from gateway.core.leases import EPOCH, Lease
from localnet.anvil import Anvil
from localnet.tokens import balance_of
from settlements.gas.node import GasNode
from settlements.models import GasTransaction, Settlement
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.outflows import note_outflows
from tests.settlements.chain import USDC, look, paid, read, settle
from tests.settlements.processes import start
from wallets.forwarders.addresses import checksum
from wallets.models import DepositOutflow

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]


def killed(base_node: Anvil, moment: str) -> None:
    """Have a process empty what is due until it is killed at a moment."""
    chain = {
        "CHAIN_BASE_RPC_URLS": base_node.url,
        "CHAIN_BASE_TOKEN_USDC": USDC,
        "CHAIN_BASE_CONFIRMATIONS": "6",
        "GAS_KEYS": base_node.accounts[3].key,
        "GAS_COIN_USD": "base=10",
    }
    process = start(moment, chain=chain)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("moment", "written", "left"), [("die-written", 0, 25_000_000), ("die-intended", 1, 25_000_000), ("die-sent", 1, 0)]
)
def test_the_next_run_finishes_what_a_killed_one_began(
    base_gas_node: GasNode, base_node: Anvil, moment: str, written: int, left: int
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    wallet = checksum(bytes(deposit.destination))
    before = balance_of(base_node, USDC, wallet)
    killed(base_node, moment)
    assert GasTransaction.objects.count() == written
    assert balance_of(base_node, USDC, str(deposit)) == left
    look(base_gas_node)
    # What a killed process was alone with is free again within a minute, which this test does not wait for.
    left_over = Lease.objects.filter(name="settlements:batches:base")
    assert left_over.update(lease_until=EPOCH) == 1
    settle(base_gas_node, base_node)
    settle(base_gas_node, base_node)
    [settlement] = Settlement.objects.all()
    assert settlement.status == SettlementStatus.SETTLED
    assert (settlement.units_moved, settlement.sender) == (25_000_000, Sender.GATEWAY)
    assert GasTransaction.objects.count() == 1
    read(base_node)
    note_outflows("base", now=timezone.now())
    assert DepositOutflow.objects.count() == 1
    assert Settlement.objects.count() == 1
    assert balance_of(base_node, USDC, wallet) == before + 25_000_000
