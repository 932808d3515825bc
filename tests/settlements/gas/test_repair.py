"""A person repairs an account's numbers."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from localnet.anvil import Anvil
from settlements.gas.node import GasNode
from settlements.gas.repair import MOST_FILLED
from settlements.gas.upkeep import tend
from settlements.models import GasAccount, GasTransaction
from settlements.states import Purpose, TransactionState
from tests.nodes.proxy import RpcProxy
from tests.settlements.calls import ask
from tests.settlements.chain import CONFIRMATIONS
from tests.settlements.gas.test_nonces import account, asking

pytestmark = pytest.mark.django_db


def raise_by(count: int) -> int:
    """As an older version did that believed a node; return the number that would have been right."""
    right = account().next_nonce
    assert right is not None
    GasAccount.objects.update(next_nonce=right + count)
    return right


def command(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    call_command("gas_account", "base", account().address, *options)
    return capsys.readouterr().out


def test_a_number_that_was_raised_too_far_is_repaired_by_hand(
    base_gas_node: GasNode, base_node: Anvil, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(base_gas_node, "one")
    tend("base", node=base_gas_node, now=timezone.now())
    right = raise_by(5)
    assert f"ledger: {right + 5}." in command(capsys)
    assert f"continue with nonce {right}. Nothing" in command(capsys, "--resync")
    assert account().next_nonce == right + 5
    command(capsys, "--resync", "--yes")
    assert ask(base_gas_node, "two").nonce == right


def test_holes_below_what_is_on_its_way_are_used_up(
    base_gas_node: GasNode, base_node: Anvil, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(base_gas_node, "one")
    right = raise_by(3)
    stuck = ask(base_gas_node, "two")
    GasTransaction.objects.filter(reference="one").update(state=TransactionState.DROPPED)
    again = ask(base_gas_node, "one")
    said = command(capsys, "--resync", "--yes")
    assert f"after 4 empty transactions ({right - 1} to {right + 2})" in said
    tend("base", node=base_gas_node, now=timezone.now())
    base_node.mine(CONFIRMATIONS)
    assert tend("base", node=base_gas_node, now=timezone.now()) == 0
    states = GasTransaction.objects.values_list("state", flat=True)
    assert list(states) == [TransactionState.MINED] * 6
    empty = GasTransaction.objects.filter(purpose=Purpose.CANCEL)
    assert empty.count() == 4
    for one in (stuck, again):
        one.refresh_from_db()
        assert one.succeeded


def test_a_hole_too_wide_or_nodes_that_disagree_are_left_to_the_person(
    base_gas_node: GasNode,
    base_node: Anvil,
    absurd_node: RpcProxy,
    base_settings: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ask(base_gas_node, "one")
    raise_by(MOST_FILLED + 2)
    ask(base_gas_node, "two")
    with pytest.raises(CommandError, match="nonces are missing"):
        command(capsys, "--resync", "--yes")
    with asking(base_settings, absurd_node.url, base_node.url), pytest.raises(CommandError, match="different nonces"):
        command(capsys, "--resync", "--yes")
    assert GasTransaction.objects.count() == 2
