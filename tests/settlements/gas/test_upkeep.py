"""No transaction holds up those behind it, and none is lost."""

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.gas.broadcast import broadcast
from settlements.gas.node import GasNode, Sending
from settlements.gas.upkeep import tend
from settlements.models import GasTransaction
from settlements.states import TransactionState
from tests.settlements.calls import ask
from tests.settlements.chain import CONFIRMATIONS, LATE

pytestmark = pytest.mark.django_db

COIN = hex(10**18)


def state_of(made: GasTransaction) -> tuple[str, bool | None]:
    made.refresh_from_db()
    return made.state, made.succeeded


def test_who_cannot_pay_offers_no_more(base_gas_node: GasNode, base_node: Anvil) -> None:
    made = ask(base_gas_node, "one")
    base_node.rpc("anvil_setBalance", made.account.address, "0x1")
    assert broadcast(made, node=base_gas_node, now=timezone.now()) is Sending.POOR
    tend("base", node=base_gas_node, now=timezone.now() + LATE)
    assert made.attempts.count() == 1
    base_node.rpc("anvil_setBalance", made.account.address, COIN)
    tend("base", node=base_gas_node, now=timezone.now() + LATE)
    base_node.mine(CONFIRMATIONS)
    assert tend("base", node=base_gas_node, now=timezone.now() + LATE) == 0


def test_a_key_that_is_used_elsewhere_goes_on_after_the_others_number(base_gas_node: GasNode, base_node: Anvil) -> None:
    ask(base_gas_node, "one")
    holder = base_node.accounts[3]
    for _ in range(3):
        base_node.send(holder, to=holder.address)
    base_node.mine(CONFIRMATIONS)
    tend("base", node=base_gas_node, now=timezone.now())
    broadcast(made := ask(base_gas_node, "one"), node=base_gas_node, now=timezone.now())
    base_node.mine(CONFIRMATIONS)
    tend("base", node=base_gas_node, now=timezone.now())
    assert state_of(made) == (TransactionState.MINED, True)
    assert GasTransaction.objects.filter(state=TransactionState.DROPPED).count() == 1
