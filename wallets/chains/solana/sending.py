"""Sends transactions to Solana nodes, and asks what became of them. Answers are checked here; a node's failure is a ChainError."""

import base64
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains.rpc.client import Node, RefusedError
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode

# Errors about our own account: too little balance, or none ever.
_OURS: Final = frozenset(
    {"InsufficientFundsForFee", "AccountNotFound", "InvalidAccountForFee", "InvalidRentPayingAccount"}
)
# Its first account, which is ours, would fall below the minimum balance.
_TOO_LITTLE_LEFT: Final = {"InsufficientFundsForRent": {"account_index": 0}}
_UNKNOWN_HASH: Final = "BlockhashNotFound"
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Simulated:
    """The result of a simulation: `error` is the network's word for a failure, "" for success.

    `is_ours` says that our account cannot pay for it, which says nothing about the payment.
    """

    error: str
    is_ours: bool = False


def simulate(pool: RpcPool, transaction: bytes) -> Simulated:
    """Simulate a transaction; its first account's signature may be missing. Raises ChainError."""
    options = {
        "encoding": "base64",
        "sigVerify": False,
        "replaceRecentBlockhash": False,
        # The newest state: payers' libraries use the newest confirmed block's hash.
        "commitment": "processed",
    }
    asked = [_text(transaction), options]

    def ask(node: Node) -> Any:
        return _refusable(node, "simulateTransaction", asked)

    error = _error_in(pool.run(ask))
    if error == _UNKNOWN_HASH:
        # Too old, or newer than this node's state.
        other = pool.second_opinion(ask)
        error = error if other is None else _error_in(other)
    if error is None:
        return Simulated("")
    is_ours = str(error) in _OURS or error == _TOO_LITTLE_LEFT
    return Simulated(str(error)[:_LONGEST], is_ours=is_ours)


def send(pool: RpcPool, transaction: bytes) -> None:
    """Send a signed transaction to a node, which forwards it. Its answer is ignored: the chain shows the result.

    Raises ChainError.
    """
    options = {"encoding": "base64", "skipPreflight": True, "maxRetries": 2}
    asked = [_text(transaction), options]
    pool.run(lambda node: _refusable(node, "sendTransaction", asked))


def result_so_far(pool: RpcPool, signature: str) -> bool | None:
    """Whether a recent transaction succeeded in a block that lasts; None if no block has it. Raises ChainError.

    False is no answer for good: it failed, or forks may take its block.
    """
    return pool.run(lambda node: decode.has_lasted(node.call("getSignatureStatuses", [[signature]])))


def _text(transaction: bytes) -> str:
    return base64.b64encode(transaction).decode()


def _refusable(node: Node, method: str, params: list[Any]) -> Any:
    """Ask; a refusal is about the transaction, not a node's failure."""
    try:
        return node.call(method, params)
    except RefusedError as error:
        return error


def _error_in(answer: Any) -> Any:
    """Return why a simulated transaction failed; None if it did not."""
    if isinstance(answer, RefusedError):
        # It was not simulated at all, which says nothing about the payment.
        raise answer
    return decode.field(decode.in_context(answer)[1], "err")
