"""Whoever sends money on, it is written down once, with the settlement it belongs to."""

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from demo.localnet.tokens import execute
from settlements.gas.node import GasNode
from settlements.models import Hold, SettledOutflow, Settlement
from settlements.states import ReleasedBy, Sender, SettlementStatus
from settlements.sweeps.outflows import note_outflows
from settlements.sweeps.service import sweep
from tests.nodes.forwarders import FACTORY, FLUSH
from tests.settlements.chain import USDC, WAITING, paid, read, settle
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress, DepositOutflow
from wallets.states import TransferState

pytestmark = pytest.mark.django_db


def flush(base_node: Anvil, deposit: DepositAddress) -> str:
    """Have a stranger send a forwarder's money on; return the transaction's hash."""
    to = checksum(bytes(deposit.destination))
    stranger = base_node.accounts[6]
    return execute(base_node, stranger, FACTORY, FLUSH, to, bytes(deposit.nonce), USDC)


def test_a_strangers_flush_is_a_settlement_once(
    node: GasNode, base_node: Anvil
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    tx_hash = flush(base_node, deposit)
    assert note_outflows("base", now=timezone.now()) == 0
    read(base_node)
    assert note_outflows("base", now=timezone.now()) == 1
    assert note_outflows("base", now=timezone.now(), everything=True) == 0
    [settlement] = Settlement.objects.all()
    assert (settlement.sender, settlement.status) == (
        Sender.EXTERNAL,
        SettlementStatus.SETTLED,
    )
    assert (settlement.tx_hash, settlement.units_moved) == (tx_hash, 25_000_000)
    assert settlement.merchant_id == deposit.merchant_id
    assert sweep(WAITING, node=node, now=timezone.now()) == []


def test_what_our_own_gas_sent_belongs_to_its_settlement(
    node: GasNode, base_node: Anvil
) -> None:
    paid(base_node, 25_000_000)
    [settlement] = sweep(WAITING, node=node, now=timezone.now())
    read(base_node)
    assert note_outflows("base", now=timezone.now()) == 1
    settle(node, base_node)
    assert SettledOutflow.objects.get().settlement == settlement
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED
    assert Settlement.objects.count() == 1


def test_a_strangers_flush_ends_escrow(node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    hold = Hold.objects.create(
        merchant=deposit.merchant, mode="live", subject_id="chk", nonce=deposit.nonce
    )
    flush(base_node, deposit)
    read(base_node)
    note_outflows("base", now=timezone.now())
    hold.refresh_from_db()
    assert hold.released_by == ReleasedBy.EXTERNAL


def test_a_strangers_dust_releases_nothing_of_what_is_held_elsewhere(
    node: GasNode, base_node: Anvil
) -> None:
    """The same forwarder is on every chain: what is flushed on one leaves the others as they are."""
    [deposit] = paid(base_node, 25_000_000)
    hold = Hold.objects.create(
        merchant=deposit.merchant, mode="live", subject_id="chk", nonce=deposit.nonce
    )
    now = timezone.now()
    DepositOutflow.objects.create(
        deposit=deposit,
        chain="polygon",
        token="USDC",
        tx_hash="0x" + "cd" * 32,
        position=0,
        units=1,
        recipient=checksum(bytes(deposit.destination)),
        block_height=1,
        block_hash="0x" + "ef" * 32,
        block_time=now,
        detected_at=now,
        state=TransferState.CONFIRMED,
        confirmed_at=now,
    )
    assert note_outflows("polygon", now=now) == 1
    hold.refresh_from_db()
    assert hold.released_at is None
    assert sweep(WAITING, node=node, now=now) == []
