"""How transactions get to nodes."""

from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from settlements.gas.node import GasNode, Sending, broadcast, meaning_of
from settlements.gas.upkeep import GIVE_UP_AFTER, tend
from settlements.models import GasTransaction
from settlements.states import Purpose, TransactionState
from tests.settlements.calls import ask
from tests.settlements.chain import CONFIRMATIONS, LATE

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        # go-ethereum, bor, op-geth
        ("insufficient funds for gas * price + value: balance 0, tx cost 42000, overshot 42000", Sending.POOR),
        ("insufficient funds for l1Cost + gas * price + value: address 0x3f have 0 want 9", Sending.POOR),
        ("insufficient balance for transfer", Sending.POOR),
        ("transaction underpriced: tip needed 25000000000, tip permitted 1", Sending.UNDERPRICED),
        ("replacement transaction underpriced", Sending.UNDERPRICED),
        ("max fee per gas less than block base fee: address 0x3f, maxFeePerGas: 1, baseFee: 7", Sending.UNDERPRICED),
        ("nonce too low: next nonce 5, tx nonce 3", Sending.USED),
        ("already known", Sending.TAKEN),
        # erigon
        ("fee too low", Sending.UNDERPRICED),
        ("insufficient funds", Sending.POOR),
        # nethermind
        ("InsufficientFunds, Account balance: 0, cumulative cost: 42000", Sending.POOR),
        ("InsufficientFunds, Balance is zero, cannot pay gas", Sending.POOR),
        ("FeeTooLowToCompete", Sending.UNDERPRICED),
        ("ReplacementNotAllowed", Sending.UNDERPRICED),
        ("OldNonce, Current nonce: 5, nonce of rejected tx: 3", Sending.USED),
        ("AlreadyKnown", Sending.TAKEN),
        # reth, revm
        ("lack of funds (0) for max fee (42000)", Sending.POOR),
        ("transaction feeCap 7 below chain minimum", Sending.UNDERPRICED),
        ("transaction priority fee below minimum required priority fee 7", Sending.UNDERPRICED),
        # besu
        ("Upfront cost exceeds account balance", Sending.POOR),
        ("transaction up-front cost 0x9 exceeds transaction sender account balance 0x0", Sending.POOR),
        ("Gas price below current base fee", Sending.UNDERPRICED),
        ("Known transaction", Sending.TAKEN),
        # hardhat, OpenEthereum, zkSync
        ("Sender doesn't have enough funds to send tx. The max upfront cost is: 9", Sending.POOR),
        ("Not enough balance to cover the fee", Sending.POOR),
        # Of something else.
        ("exceeds block gas limit", None),
        ("intrinsic gas too low: gas 1, minimum needed 21000", None),
        ("txpool is full", None),
        ("invalid sender", None),
    ],
)
def test_a_clients_words_for_a_refusal_are_understood(text: str, meaning: Sending | None) -> None:
    assert meaning_of(text) is meaning


def state_of(made: GasTransaction) -> tuple[str, bool | None]:
    made.refresh_from_db()
    return made.state, made.succeeded


def test_a_gap_that_a_failed_send_left_is_closed_for_those_behind_it(base_gas_node: GasNode, base_node: Anvil) -> None:
    unsent, behind = ask(base_gas_node, "one"), ask(base_gas_node, "two")
    broadcast(behind, node=base_gas_node, now=timezone.now())
    assert base_gas_node.receipt(behind.attempts.get().tx_hash) is None
    tend("base", node=base_gas_node, now=timezone.now())
    base_node.mine(CONFIRMATIONS)
    assert tend("base", node=base_gas_node, now=timezone.now()) == 0
    assert {state_of(unsent), state_of(behind)} == {(TransactionState.MINED, True)}


def test_what_no_node_takes_makes_room_for_those_behind_it(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    base_settings.GAS_DAILY_COINS = {"base": "10"}
    refused, behind = ask(base_gas_node, "one", gas=90_000_000), ask(base_gas_node, "two")
    assert broadcast(refused, node=base_gas_node, now=timezone.now()) is Sending.REFUSED
    broadcast(behind, node=base_gas_node, now=timezone.now())
    later = timezone.now() + GIVE_UP_AFTER + LATE
    tend("base", node=base_gas_node, now=later)
    base_node.mine(CONFIRMATIONS)
    assert tend("base", node=base_gas_node, now=later) == 0
    refused.refresh_from_db()
    assert (refused.purpose, refused.reference) == (Purpose.CANCEL, f"sweep:{refused.pk}")
    assert state_of(behind) == (TransactionState.MINED, True)


def test_what_a_reorganisation_takes_out_of_its_block_gets_into_another(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    made = ask(base_gas_node, "one")
    broadcast(made, node=base_gas_node, now=timezone.now())
    base_node.mine()
    tend("base", node=base_gas_node, now=timezone.now())
    made.refresh_from_db()
    assert (made.state, made.succeeded) == (TransactionState.SENT, True)
    before = made.block_hash
    base_node.reorg(2)
    later = timezone.now() + LATE
    tend("base", node=base_gas_node, now=later)
    base_node.mine(CONFIRMATIONS)
    assert tend("base", node=base_gas_node, now=later) == 0
    assert state_of(made) == (TransactionState.MINED, True)
    assert made.block_hash != before


def test_what_a_reorganisation_takes_out_of_a_final_block_holds_up_nobody(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    made = ask(base_gas_node, "one")
    broadcast(made, node=base_gas_node, now=timezone.now())
    base_node.mine(CONFIRMATIONS)
    tend("base", node=base_gas_node, now=timezone.now())
    assert state_of(made) == (TransactionState.MINED, True)
    base_node.reorg(CONFIRMATIONS + 2)
    broadcast(behind := ask(base_gas_node, "two"), node=base_gas_node, now=timezone.now())
    for minutes in range(3):
        tend("base", node=base_gas_node, now=timezone.now() + (1 + minutes) * LATE)
        base_node.mine(CONFIRMATIONS)
    assert tend("base", node=base_gas_node, now=timezone.now() + 5 * LATE) == 0
    assert {state_of(made), state_of(behind)} == {(TransactionState.MINED, True)}
    assert base_gas_node.receipt(behind.tx_hash) is not None
