"""What arrived is what the token's own events in a final receipt say, whatever else a transaction claims."""

from datetime import timedelta

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from demo.localnet.tokens import balance_of, execute
from settlements.gas.broadcast import broadcast
from settlements.gas.ledger import GasCall, intend
from settlements.gas.node import GasNode
from settlements.models import GasAttempt, GasTransaction, Settlement, TroubledForwarder
from settlements.states import Purpose, SettlementStatus, TransactionState
from settlements.sweeps.calls import FACTORY, calldata
from settlements.sweeps.outcomes import RETRY_AFTER
from settlements.sweeps.outflows import note_outflows
from settlements.sweeps.plan import waiting_items, write_batch
from settlements.sweeps.service import sweep
from tests.nodes.forwarders import FLUSH
from tests.settlements.chain import LATE, USDC, WAITING, look, paid, read, settle
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress

pytestmark = pytest.mark.django_db
BLOCK = "set_blocked(address,bool)"


def block(base_node: Anvil, deposit: DepositAddress, *, blocked: bool = True) -> None:
    """Have the token's issuer put a forwarder on its list, or take it off."""
    execute(base_node, base_node.accounts[5], USDC, BLOCK, str(deposit), blocked)


def starved(node: GasNode) -> list[Settlement]:
    """A batch of two that was sent with gas for one, as a node's own estimate would."""
    now = timezone.now()
    items = waiting_items(WAITING, now=now)
    written = write_batch(WAITING, items, now=now)
    data = calldata(items, bytes.fromhex(USDC[2:]))
    made = intend(
        "base", GasCall(FACTORY, data, 420_000), purpose=Purpose.SWEEP, reference=written[0].batch, node=node, now=now
    )
    Settlement.objects.update(transaction=made, status=SettlementStatus.SENT)
    broadcast(made, node=node, now=now)
    return written


def test_a_batch_without_gas_for_all_items_is_undone_as_a_whole_and_tried_later(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    deposits = paid(base_node, 25_000_000, 30_000_000)
    written = starved(base_gas_node)
    settle(base_gas_node, base_node)
    for one in written:
        one.refresh_from_db()
    assert {one.status for one in written} == {SettlementStatus.FAILED}
    assert "reverted" in written[0].error
    assert [balance_of(base_node, USDC, str(one)) for one in deposits] == [25_000_000, 30_000_000]
    now = timezone.now()
    assert waiting_items(WAITING, now=now) == []
    assert len(waiting_items(WAITING, now=now + RETRY_AFTER[0] + LATE)) == 2


def test_the_one_that_a_token_refuses_fails_and_the_others_arrive(base_gas_node: GasNode, base_node: Anvil) -> None:
    refused, paying = paid(base_node, 25_000_000, 30_000_000)
    block(base_node, refused)
    sweep(WAITING, node=base_gas_node, now=timezone.now())
    settle(base_gas_node, base_node)
    statuses = dict(Settlement.objects.values_list("items__deposit", "status"))
    assert statuses == {refused.pk: SettlementStatus.FAILED, paying.pk: SettlementStatus.SETTLED}
    trouble = TroubledForwarder.objects.get()
    assert (trouble.deposit, trouble.failures) == (refused, 1)


def test_after_three_failures_a_person_must_look(base_gas_node: GasNode, base_node: Anvil) -> None:
    [refused] = paid(base_node, 25_000_000)
    block(base_node, refused)
    now = timezone.now()
    for _ in range(5):
        sweep(WAITING, node=base_gas_node, now=now)
        settle(base_gas_node, base_node)
        now += timedelta(days=2)
    assert TroubledForwarder.objects.get().failures == 3
    assert GasTransaction.objects.count() == 3
    block(base_node, refused, blocked=False)
    TroubledForwarder.objects.all().delete()
    [settlement] = sweep(WAITING, node=base_gas_node, now=now)
    settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED


def test_what_somebody_else_sent_on_first_is_no_failure(base_gas_node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    now = timezone.now()
    [settlement] = write_batch(WAITING, waiting_items(WAITING, now=now), now=now)
    stranger, to = base_node.accounts[6], checksum(bytes(deposit.destination))
    execute(base_node, stranger, FACTORY, FLUSH, to, bytes(deposit.nonce), USDC)
    look(base_gas_node)
    read(base_node)
    settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert (settlement.status, settlement.units_moved) == (SettlementStatus.FAILED, 0)
    assert "Another account" in settlement.error
    assert not TroubledForwarder.objects.exists()


def test_a_final_block_that_is_gone_after_all_ends_nothing(base_gas_node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    [settlement] = sweep(WAITING, node=base_gas_node, now=timezone.now())
    GasTransaction.objects.update(state=TransactionState.MINED)
    base_node.receipt(GasAttempt.objects.get().tx_hash)
    base_node.reorg(1)
    look(base_gas_node)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SENT
    assert balance_of(base_node, USDC, str(deposit)) == 25_000_000
    look(base_gas_node, now=timezone.now() + LATE)
    settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED
    assert balance_of(base_node, USDC, str(deposit)) == 0


def test_a_batch_whose_number_was_used_elsewhere_is_sent_anew(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    base_node.set_automine(False)
    try:
        [settlement] = sweep(WAITING, node=base_gas_node, now=timezone.now())
        base_node.rpc("anvil_dropAllTransactions")
        holder = base_node.accounts[3]
        base_node.send(holder, to=holder.address)
        base_node.mine()
    finally:
        base_node.set_automine(True)
    settle(base_gas_node, base_node)
    settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED
    states = GasTransaction.objects.order_by("nonce").values_list("state", flat=True)
    assert list(states) == [TransactionState.DROPPED, TransactionState.MINED]


def test_gas_that_moved_nothing_for_no_known_reason_is_not_spent_again_at_once(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    paid(base_node, 25_000_000)
    # As if the factory were not there: every call of it succeeds, and does nothing.
    base_node.rpc("anvil_setCode", FACTORY, "0x")
    sweep(WAITING, node=base_gas_node, now=timezone.now())
    settle(base_gas_node, base_node)
    assert TroubledForwarder.objects.get().failures == 1
    assert waiting_items(WAITING, now=timezone.now()) == []


def test_a_forwarder_that_was_emptied_waits_for_its_watcher_to_know(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    sweep(WAITING, node=base_gas_node, now=timezone.now())
    settle(base_gas_node, base_node)
    now = timezone.now()
    assert waiting_items(WAITING, now=now) == []
    # Without this a deep reorganisation would leave its money there for ever.
    assert len(waiting_items(WAITING, now=now + timedelta(days=2))) == 1
    read(base_node)
    note_outflows("base", now=now)
    assert waiting_items(WAITING, now=now + timedelta(days=2)) == []
