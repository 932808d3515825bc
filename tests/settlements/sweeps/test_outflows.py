"""Whoever sends money on, it is written down once, with the settlement it belongs to."""

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.tokens import execute
from settlements.gas.node import GasNode
from settlements.models import Hold, SettledOutflow, Settlement
from settlements.states import ReleasedBy, Sender, SettlementStatus
from settlements.sweeps import escrow, outflows
from settlements.sweeps.outflows import note_outflows
from settlements.sweeps.requests import note_wallet_hash, wallet_batch
from settlements.sweeps.service import sweep
from tests.factories import make_merchant
from tests.nodes.forwarders import FACTORY, FLUSH
from tests.settlements.chain import USDC, WAITING, paid, read, settle
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress, DepositOutflow
from wallets.states import ClaimKind, TransferState

pytestmark = pytest.mark.django_db


def flush(base_node: Anvil, deposit: DepositAddress) -> str:
    """Have a stranger send a forwarder's money on; return the transaction's hash."""
    to = checksum(bytes(deposit.destination))
    stranger = base_node.accounts[6]
    return execute(base_node, stranger, FACTORY, FLUSH, to, bytes(deposit.nonce), USDC)


def test_a_strangers_flush_is_a_settlement_once(base_gas_node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    tx_hash = flush(base_node, deposit)
    assert note_outflows("base", now=timezone.now()) == 0
    read(base_node)
    assert note_outflows("base", now=timezone.now()) == 1
    assert note_outflows("base", now=timezone.now(), everything=True) == 0
    [settlement] = Settlement.objects.all()
    assert (settlement.sender, settlement.status) == (Sender.EXTERNAL, SettlementStatus.SETTLED)
    assert (settlement.tx_hash, settlement.units_moved) == (tx_hash, 25_000_000)
    assert settlement.merchant_id == deposit.merchant_id
    assert sweep(WAITING, node=base_gas_node, now=timezone.now()) == []


def test_what_our_own_gas_sent_belongs_to_its_settlement(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    [settlement] = sweep(WAITING, node=base_gas_node, now=timezone.now())
    read(base_node)
    assert note_outflows("base", now=timezone.now()) == 1
    settle(base_gas_node, base_node)
    assert SettledOutflow.objects.get().settlement == settlement
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED
    assert Settlement.objects.count() == 1


@pytest.mark.parametrize("is_told", [True, False])
def test_whose_money_is_held_is_told_of_a_strangers_flush(
    base_gas_node: GasNode, base_node: Anvil, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    """It says whether the money that was to be held had come; where it says nothing, the hold stays."""
    [deposit] = paid(base_node, 25_000_000)
    hold = Hold.objects.create(merchant=deposit.merchant, mode="live", subject_id="chk", nonce=deposit.nonce)
    monkeypatch.setattr(escrow, "_listeners", [escrow.end_emptied] if is_told else [])
    flush(base_node, deposit)
    read(base_node)
    note_outflows("base", now=timezone.now())
    hold.refresh_from_db()
    assert hold.released_by == (ReleasedBy.EXTERNAL if is_told else "")


def test_a_strangers_dust_releases_nothing_of_what_is_held_elsewhere(
    base_gas_node: GasNode, base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same forwarder is on every chain: what is flushed on one leaves the others as they are."""
    monkeypatch.setattr(escrow, "_listeners", [escrow.end_emptied])
    [deposit] = paid(base_node, 25_000_000)
    hold = Hold.objects.create(merchant=deposit.merchant, mode="live", subject_id="chk", nonce=deposit.nonce)
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
    assert sweep(WAITING, node=base_gas_node, now=now) == []


def carried_out(base_node: Anvil, deposit: DepositAddress) -> str:
    """Have the merchant's own wallet send what waits, and a watcher read it; return the transaction's hash."""
    batch = wallet_batch(
        deposit.merchant_id, purpose=ClaimKind.CHECKOUT, chain="base", token="USDC", now=timezone.now()
    )
    assert batch is not None
    call = batch.transaction
    data = bytes.fromhex(call["data"][2:])
    holder = base_node.accounts[7]
    tx_hash = base_node.send(holder, to=call["to"], data=data, gas=call["gas"])
    note_wallet_hash(deposit.merchant_id, batch.batch, tx_hash)
    base_node.receipt(tx_hash)
    read(base_node)
    return tx_hash


def test_a_transaction_with_more_outflows_than_one_run_takes_is_one_settlement(
    base_gas_node: GasNode, base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outflows, "MOST_AT_ONCE", 2)
    amounts = 25_000_000, 30_000_000, 35_000_000
    deposit, *_ = paid(base_node, *amounts, merchant=make_merchant())
    tx_hash = carried_out(base_node, deposit)
    runs = [note_outflows("base", now=timezone.now()) for _ in range(2)]
    [settlement] = Settlement.objects.all()
    assert (settlement.sender, settlement.status, settlement.tx_hash) == (
        Sender.WALLET,
        SettlementStatus.SETTLED,
        tx_hash,
    )
    assert settlement.units_moved == sum(amounts)
    assert not settlement.items.filter(units_moved=0).exists()
    assert runs == [3, 0]


def test_one_run_takes_no_more_blocks_than_it_needs(
    base_gas_node: GasNode, base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outflows, "MOST_AT_ONCE", 2)
    for deposit in paid(base_node, *[25_000_000] * 3):
        flush(base_node, deposit)
    read(base_node)
    runs = [note_outflows("base", now=timezone.now()) for _ in range(3)]
    assert runs == [2, 1, 0]
