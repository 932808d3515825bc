"""Transactions of a gas key that move nothing, to be asked for, sent and followed."""

from dataclasses import replace

from django.utils import timezone

from localnet.abi import encode_call
from settlements.gas.ledger import GasCall, intend
from settlements.gas.node import GasNode, GasReceipt, find_receipt
from settlements.models import GasTransaction
from settlements.states import Purpose
from tests.nodes.forwarders import FACTORY, FLUSH, NATIVE_COIN, new_deposit
from tests.waiting import wait_until


def flush_nothing(*, gas: int = 400_000) -> GasCall:
    """A call that any account may make, and that moves nothing."""
    deposit = new_deposit()
    data = encode_call(FLUSH, deposit.destination, deposit.nonce, NATIVE_COIN)
    return GasCall(FACTORY, data, gas)


def ask(node: GasNode, reference: str, *, gas: int = 400_000, sender: str = "") -> GasTransaction:
    """Have a transaction written down, of one account only if it is named."""
    call = replace(flush_nothing(gas=gas), sender=sender)
    return intend("base", call, purpose=Purpose.SWEEP, reference=reference, node=node, now=timezone.now())


def await_receipt(made: GasTransaction, *, node: GasNode, seconds: float = 20.0) -> GasReceipt:
    """The receipt of whichever attempt gets into a block, once one has."""
    found: list[GasReceipt] = []

    def look() -> bool:
        if (receipt := find_receipt(made, node=node)) is not None:
            found.append(receipt)
        return bool(found)

    wait_until(look, seconds=seconds, pause=0.02)
    return found[0]
