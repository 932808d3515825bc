"""Prepares payments on Tron, and sends signed ones.

TronLink's tronWeb calls its node from within the page, which the page's policy forbids. So the wallet only signs, and
Florin talks to the network. Paths and answers: https://developers.tron.network/reference/broadcasthex.
"""

import re
from datetime import datetime, timedelta
from typing import Any, Final

from wallets.chains.base import ChainUnavailableError, MalformedAnswerError
from wallets.chains.payments import NotEnoughError, PaymentOrder, PreparedPayment, TransactionRefusedError
from wallets.chains.rpc.batches import ask_all
from wallets.chains.rpc.client import Call, Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.tron.dialect import contract
from wallets.chains.tron.transactions import Anchor, ContractCall, signed, transfer_data

VALID_FOR: Final = timedelta(minutes=5)
"""How long a payer has to sign."""

# First four bytes of keccak256("balanceOf(address)").
_BALANCE_OF: Final = "0x70a08231"
_HASH: Final = re.compile(r"0x[0-9a-f]{64}", re.ASCII)
_QUANTITY: Final = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII)
_SENT: Final = frozenset({"SUCCESS", "DUP_TRANSACTION_ERROR"})
# Answers of a node that could not forward it; another one may.
_UNDECIDED: Final = frozenset({"SERVER_BUSY", "NO_CONNECTION", "NOT_ENOUGH_EFFECTIVE_CONNECTION", "BLOCK_UNSOLIDIFIED"})


class TronCashier:
    """Prepares payments by nodes' JSON-RPC, and sends them by TronGrid's REST interface. Not thread-safe."""

    def __init__(self, pool: RpcPool, grid: RpcPool) -> None:
        self._pool = pool
        self._grid = grid

    def prepare(self, order: PaymentOrder, *, now: datetime, until: datetime) -> ContractCall:
        """Return the call for the payer to sign, valid for five minutes and not past `until`.

        Raises ChainError, and NotEnoughError. Costs two requests in one batch.
        """
        anchor, held = self._pool.run(lambda node: _anchor_and_balance(node, order))
        if held < order.units:
            raise NotEnoughError
        return ContractCall(
            owner=order.payer,
            contract=order.token.address,
            data=transfer_data(order.recipient, order.units),
            anchor=anchor,
            timestamp=_milliseconds(now),
            expiration=_milliseconds(min(until, now + VALID_FOR)),
        )

    def prepare_payment(self, order: PaymentOrder, *, now: datetime, until: datetime) -> PreparedPayment:
        """Return the call in tronWeb's form, and its bytes. Raises what `prepare` does."""
        call = self.prepare(order, now=now, until=until)
        return PreparedPayment(call.document(), call.raw())

    def send(self, raw: bytes, signature: bytes) -> None:
        """Send a transaction's raw bytes with a signature (65 bytes); sending it again does no harm.

        Raises TransactionRefusedError if certainly nothing was sent, ChainError if that is unknown.
        """
        code = self._grid.run(lambda node: _broadcast(node, signed(raw, signature)))
        if code not in _SENT:
            raise TransactionRefusedError(code)


def _anchor_and_balance(node: Node, order: PaymentOrder) -> tuple[Anchor, int]:
    owner = contract(order.payer).removeprefix("0x")
    call = {"to": contract(order.token.address), "data": f"{_BALANCE_OF}{owner:0>64}"}
    calls: list[Call] = [("eth_getBlockByNumber", ["latest", False]), ("eth_call", [call, "latest"])]
    block, balance = ask_all(node, calls)
    return _anchor(block), int(_matching(_HASH, balance), 16)


def _anchor(block: Any) -> Anchor:
    if not isinstance(block, dict):
        raise ChainUnavailableError("the node has no block yet")
    height = _matching(_QUANTITY, block.get("number"))
    block_id = _matching(_HASH, block.get("hash"))
    return Anchor(height=int(height, 16), block_id=bytes.fromhex(block_id[2:]))


def _matching(pattern: re.Pattern[str], answer: Any) -> str:
    if not isinstance(answer, str) or not pattern.fullmatch(answer):
        raise MalformedAnswerError("a number or a hash is none")
    return answer


def _broadcast(node: Node, transaction: bytes) -> str:
    answer = node.post("wallet/broadcasthex", {"transaction": transaction.hex()})
    code = answer.get("code") if isinstance(answer, dict) else None
    if not isinstance(code, str) or not re.fullmatch("[A-Z_]{1,64}", code):
        raise MalformedAnswerError("what became of a transaction was not told")
    if code in _UNDECIDED:
        raise ChainUnavailableError(f"{node.label} cannot pass a transaction on: {code}")
    return code


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
