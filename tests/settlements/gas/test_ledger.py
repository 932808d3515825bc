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


def test_a_transaction_is_written_down_before_any_node_hears_of_it(node: GasNode, base_node: Anvil) -> None:
    made = ask(node, "one")
    assert made.state == TransactionState.INTENDED
    attempt = GasAttempt.objects.get()
    assert node.receipt(attempt.tx_hash) is None
    broadcast(made, node=node, now=timezone.now())
    assert await_receipt(made, node=node).succeeded


def test_the_same_reference_is_one_transaction(node: GasNode) -> None:
    assert ask(node, "one").pk == ask(node, "one").pk
    assert GasAttempt.objects.count() == 1


def test_numbers_follow_each_other(node: GasNode) -> None:
    first, second = ask(node, "one"), ask(node, "two")
    assert second.nonce == first.nonce + 1


def test_what_was_never_sent_is_sent_by_whoever_looks(node: GasNode, base_node: Anvil) -> None:
    made = ask(node, "one")
    assert tend("base", node=node, now=timezone.now()) == 1
    base_node.mine(12)
    assert tend("base", node=node, now=timezone.now()) == 0
    made.refresh_from_db()
    assert (made.state, made.succeeded) == (TransactionState.MINED, True)
    assert made.cost_wei


def test_what_waits_too_long_pays_more_for_the_same_number(node: GasNode, base_node: Anvil) -> None:
    base_node.set_automine(False)
    try:
        made = ask(node, "one")
        broadcast(made, node=node, now=timezone.now())
        later = timezone.now() + timedelta(minutes=2)
        tend("base", node=node, now=later)
        first, second = GasAttempt.objects.order_by("number")
        assert second.max_fee > first.max_fee
        base_node.mine(12)
        tend("base", node=node, now=later)
        made.refresh_from_db()
        assert made.tx_hash == second.tx_hash
    finally:
        base_node.set_automine(True)


def test_a_number_that_was_used_elsewhere_is_dropped_and_asked_for_anew(node: GasNode, base_node: Anvil) -> None:
    made = ask(node, "one")
    key_holder = base_node.accounts[3]
    base_node.send(key_holder, to=key_holder.address)
    base_node.mine(12)
    tend("base", node=node, now=timezone.now())
    made.refresh_from_db()
    assert made.state == TransactionState.DROPPED
    assert ask(node, "one").nonce == made.nonce + 1


def test_a_forgotten_number_is_asked_anew_and_stays_above_our_own_transactions(node: GasNode, base_node: Anvil) -> None:
    waiting = ask(node, "one")
    assert forget_numbers() == 1
    assert ask(node, "two").nonce == waiting.nonce + 1
    forget_numbers()
    for _ in range(5):
        base_node.send(base_node.accounts[3], to=base_node.accounts[3].address)
    # The node takes a transaction a moment before it has a block for it.
    base_node.mine()
    assert ask(node, "three").nonce == waiting.nonce + 5
