"""The ledger of gas accounts' numbers, on a local node."""

from datetime import timedelta

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.gas.broadcast import broadcast
from settlements.gas.ledger import forget_numbers
from settlements.gas.node import GasNode
from settlements.gas.upkeep import tend
from settlements.models import GasAttempt
from settlements.states import TransactionState
from tests.settlements.calls import ask, await_receipt

pytestmark = pytest.mark.django_db


def test_a_transaction_is_written_down_before_any_node_hears_of_it(base_gas_node: GasNode, base_node: Anvil) -> None:
    made = ask(base_gas_node, "one")
    assert made.state == TransactionState.INTENDED
    attempt = GasAttempt.objects.get()
    assert base_gas_node.receipt(attempt.tx_hash) is None
    broadcast(made, node=base_gas_node, now=timezone.now())
    assert await_receipt(made, node=base_gas_node).succeeded


def test_the_same_reference_is_one_transaction(base_gas_node: GasNode) -> None:
    assert ask(base_gas_node, "one").pk == ask(base_gas_node, "one").pk
    assert GasAttempt.objects.count() == 1


def test_numbers_follow_each_other(base_gas_node: GasNode) -> None:
    first, second = ask(base_gas_node, "one"), ask(base_gas_node, "two")
    assert second.nonce == first.nonce + 1


def test_what_was_never_sent_is_sent_by_whoever_looks(base_gas_node: GasNode, base_node: Anvil) -> None:
    made = ask(base_gas_node, "one")
    assert tend("base", node=base_gas_node, now=timezone.now()) == 1
    base_node.mine(12)
    assert tend("base", node=base_gas_node, now=timezone.now()) == 0
    made.refresh_from_db()
    assert (made.state, made.succeeded) == (TransactionState.MINED, True)
    assert made.cost_wei


def test_what_waits_too_long_pays_more_for_the_same_number(base_gas_node: GasNode, base_node: Anvil) -> None:
    base_node.set_automine(False)
    try:
        made = ask(base_gas_node, "one")
        broadcast(made, node=base_gas_node, now=timezone.now())
        later = timezone.now() + timedelta(minutes=2)
        tend("base", node=base_gas_node, now=later)
        first, second = GasAttempt.objects.order_by("number")
        assert second.max_fee > first.max_fee
        base_node.mine(12)
        tend("base", node=base_gas_node, now=later)
        made.refresh_from_db()
        assert made.tx_hash == second.tx_hash
    finally:
        base_node.set_automine(True)


def test_a_number_that_was_used_elsewhere_is_dropped_and_asked_for_anew(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    made = ask(base_gas_node, "one")
    key_holder = base_node.accounts[3]
    base_node.send(key_holder, to=key_holder.address)
    base_node.mine(12)
    tend("base", node=base_gas_node, now=timezone.now())
    made.refresh_from_db()
    assert made.state == TransactionState.DROPPED
    assert ask(base_gas_node, "one").nonce == made.nonce + 1


def test_a_forgotten_number_is_asked_anew_and_stays_above_our_own_transactions(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    waiting = ask(base_gas_node, "one")
    assert forget_numbers() == 1
    assert ask(base_gas_node, "two").nonce == waiting.nonce + 1
    forget_numbers()
    for _ in range(5):
        base_node.send(base_node.accounts[3], to=base_node.accounts[3].address)
    # The node takes a transaction a moment before it has a block for it.
    base_node.mine()
    assert ask(base_gas_node, "three").nonce == waiting.nonce + 5
