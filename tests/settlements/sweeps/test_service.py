"""Sweeps of forwarders on a local node, from a payment that a watcher saw to the merchant's wallet."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.tokens import balance_of, execute
from settlements.gas.ledger import GasCall, intend
from settlements.gas.node import GasNode, GasReceipt, broadcast
from settlements.gas.upkeep import GIVE_UP_AFTER
from settlements.models import GasAttempt, GasTransaction, Hold, SettledOutflow, Settlement, TroubledForwarder
from settlements.states import Purpose, SettlementStatus, TransactionState
from settlements.sweeps import service
from settlements.sweeps.outcomes import RETRY_AFTER
from settlements.sweeps.outflows import note_outflows
from settlements.sweeps.plan import FACTORY, calldata, waiting_items, write_batch
from settlements.sweeps.service import UNSENT_FOR, resume, sweep
from tests.nodes.forwarders import FLUSH
from tests.settlements.chain import CONFIRMATIONS, LATE, USDC, WAITING, look, paid, read, settle
from wallets.chains.rpc.client import Node, RefusedError
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress

pytestmark = pytest.mark.django_db


def test_what_waits_arrives_at_the_merchants_wallets(base_gas_node: GasNode, base_node: Anvil) -> None:
    deposits = paid(base_node, 25_000_000, 30_000_000)
    wallet = checksum(bytes(deposits[0].destination))
    before = balance_of(base_node, USDC, wallet)
    settlements = sweep(WAITING, node=base_gas_node, now=timezone.now())
    assert {one.status for one in settlements} == {SettlementStatus.SENT}
    settle(base_gas_node, base_node)
    for settlement in settlements:
        settlement.refresh_from_db()
        assert settlement.status == SettlementStatus.SETTLED
        assert settlement.units_moved == settlement.units
        assert settlement.tx_hash
    assert GasTransaction.objects.count() == 1
    assert balance_of(base_node, USDC, wallet) == before + 55_000_000


def test_two_runs_send_one_batch(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    assert sweep(WAITING, node=base_gas_node, now=timezone.now())
    assert sweep(WAITING, node=base_gas_node, now=timezone.now()) == []
    assert GasTransaction.objects.count() == 1


def test_nothing_waits_that_is_held_in_escrow(base_gas_node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    hold = Hold.objects.create(merchant=deposit.merchant, mode="live", subject_id="chk", nonce=deposit.nonce)
    assert sweep(WAITING, node=base_gas_node, now=timezone.now()) == []
    hold.released_at, hold.released_by = timezone.now(), "member"
    hold.save()
    assert len(sweep(WAITING, node=base_gas_node, now=timezone.now())) == 1
    assert Settlement.objects.count() == 1


def test_batches_are_no_larger_than_the_days_limit_pays_for(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    paid(base_node, *[25_000_000] * 6)
    prices = base_gas_node.prices()
    limit = 1_000_000 * (2 * prices.base_fee + prices.tip)
    base_settings.GAS_DAILY_COINS = {"base": str(Decimal(limit) / 10**18)}
    sweep(WAITING, node=base_gas_node, now=timezone.now())
    [made] = GasTransaction.objects.all()
    assert made.gas_limit <= 1_000_000
    assert Settlement.objects.filter(status=SettlementStatus.PENDING).exists()


def test_polygons_event_of_a_fee_makes_no_transaction_a_batch() -> None:
    """There the empty transaction has an event too: the network reports the fee of each."""
    fee = {
        "address": "0x0000000000000000000000000000000000001010",
        "topics": ["0x" + "4d" * 32, *["0x" + "00" * 12 + "ab" * 20] * 3],
        "data": "0x" + "00" * 160,
    }
    ours = GasReceipt("0x" + "01" * 32, 1, "0x" + "02" * 32, True, 21_000, 1, [fee])
    assert service._is_empty(ours)
    assert not service._is_empty(replace(ours, succeeded=False))


@contextmanager
def refusing(text: str = "tx fee (1.20 ether) exceeds the configured cap") -> Iterator[None]:
    """Let every node refuse every transaction meanwhile; go-ethereum's own text says nothing of fees or nonces."""
    asked = Node.call

    def call(self: Node, method: str, params: Any, **named: Any) -> Any:
        if method == "eth_sendRawTransaction":
            raise RefusedError(text)
        return asked(self, method, params, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Node, "call", call)
        yield


@pytest.mark.parametrize(
    "text", ["insufficient funds for gas * price + value", "transaction underpriced: gas tip cap 1, minimum needed 25"]
)
def test_a_batch_that_cannot_be_paid_for_waits_and_is_sent_once_when_it_can(
    base_gas_node: GasNode, base_node: Anvil, text: str
) -> None:
    """Its nonce is emptied, so that nodes never get the same batch twice, and it has no transaction meanwhile."""
    [deposit] = paid(base_node, 25_000_000)
    wallet = checksum(bytes(deposit.destination))
    before = balance_of(base_node, USDC, wallet)
    with refusing(text):
        [settlement] = sweep(WAITING, node=base_gas_node, now=timezone.now())
    assert (settlement.status, settlement.transaction, settlement.tx_hash) == (SettlementStatus.PENDING, None, "")
    assert [one.purpose for one in GasTransaction.objects.all()] == [Purpose.CANCEL]
    for _ in range(2):
        look(base_gas_node)
        settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED
    assert [one.purpose for one in GasTransaction.objects.order_by("nonce")] == [Purpose.CANCEL, Purpose.SWEEP]
    assert balance_of(base_node, USDC, wallet) == before + 25_000_000


def test_a_batch_that_can_never_be_paid_for_frees_its_forwarders(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    with refusing("insufficient funds for gas * price + value"):
        [settlement] = sweep(WAITING, node=base_gas_node, now=timezone.now())
    assert resume("base", node=base_gas_node, now=timezone.now() + UNSENT_FOR + LATE) == 1
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.FAILED


@contextmanager
def given_up(node: GasNode, base_node: Anvil) -> Iterator[tuple[Settlement, datetime]]:
    """A settlement of a node that took the first attempt, mined nothing, and refused the second, and when it is given up.

    Nothing is mined unasked meanwhile. At the end the settlement is as a look then leaves it.
    """
    later = timezone.now() + GIVE_UP_AFTER + LATE
    base_node.set_automine(False)
    try:
        [settlement] = sweep(WAITING, node=node, now=timezone.now())
        with refusing():
            look(node, now=timezone.now() + LATE)
        assert GasTransaction.objects.get().attempts.count() == 2
        yield settlement, later
    finally:
        base_node.set_automine(True)
    look(node, now=later)
    settlement.refresh_from_db()


def test_what_was_given_up_and_is_mined_after_all_is_settled(base_gas_node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    with given_up(base_gas_node, base_node) as (settlement, later):
        with refusing():
            look(base_gas_node, now=later)
        assert GasTransaction.objects.get().purpose == Purpose.CANCEL
        settlement.refresh_from_db()
        assert settlement.status == SettlementStatus.SENT
        base_node.mine(CONFIRMATIONS)
    assert (settlement.status, settlement.units_moved) == (SettlementStatus.SETTLED, 25_000_000)
    assert not TroubledForwarder.objects.exists()
    assert balance_of(base_node, USDC, str(deposit)) == 0
    read(base_node)
    assert note_outflows("base", now=later) == 1
    assert SettledOutflow.objects.get().settlement == settlement
    assert Settlement.objects.count() == 1


def test_what_was_given_up_fails_once_the_empty_transaction_is_final(base_gas_node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    with given_up(base_gas_node, base_node) as (settlement, later):
        look(base_gas_node, now=later)
        base_node.mine()
        look(base_gas_node, now=later)
        settlement.refresh_from_db()
        assert settlement.status == SettlementStatus.SENT
        base_node.mine(CONFIRMATIONS)
    assert (settlement.status, settlement.error) == (SettlementStatus.FAILED, "No node took its transaction.")
    assert settlement.items.get().units_moved == 0
    assert TroubledForwarder.objects.get().deposit == deposit
    assert balance_of(base_node, USDC, str(deposit)) == 25_000_000


# What arrived is what the token's own events in a final receipt say, whatever else a transaction claims.


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
