"""Sweeps of forwarders on a local node, from a payment that a watcher saw to the merchant's wallet."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from demo.localnet.tokens import balance_of
from settlements.gas.node import GasNode, Receipt
from settlements.gas.upkeep import GIVE_UP_AFTER
from settlements.models import GasTransaction, Hold, SettledOutflow, Settlement, TroubledForwarder
from settlements.states import Purpose, SettlementStatus
from settlements.sweeps import service
from settlements.sweeps.outflows import note_outflows
from settlements.sweeps.service import UNSENT_FOR, resume, sweep
from tests.settlements.chain import CONFIRMATIONS, LATE, USDC, WAITING, look, paid, read, settle
from wallets.chains.rpc.client import Node, RefusedError
from wallets.forwarders.addresses import checksum

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
    ours = Receipt("0x" + "01" * 32, 1, "0x" + "02" * 32, True, 21_000, 1, [fee])
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
