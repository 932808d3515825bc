"""Asks Solana's nodes what a transaction came to for good: a final block has it, or none has it and none can. A node's failure is a ChainError."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from wallets.chains.base import MalformedAnswerError
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode
from wallets.chains.solana.questions import ask_head

_MOST_HEIGHT: Final = 2**63 - 1

Ended = Callable[[Node], int | None]
"""Returns the slot of a node's final state, if by that state no later block takes a transaction; else None. Raises ChainError."""


def last_result(pool: RpcPool, signature: str, *, last_height: int) -> bool | None:
    """Whether a transaction succeeded, by the first node that knows and has final blocks above the last height that takes it.

    None if no node knows of it: some may lag (`is_lost`). Raises ChainError if a node that may know does not answer.
    """

    def ask(node: Node) -> bool | None:
        # Asked for first, so that a failure that is found after it is final.
        if _final_height(node) <= last_height:
            return None
        return decode.has_succeeded(_ask_history(node, signature))

    return pool.first_known(ask)


def final_height(pool: RpcPool) -> int:
    """Return the height of the newest final block: not its slot, of which some have no block. Raises ChainError."""
    return pool.run(_final_height)


def above(last_height: int) -> Ended:
    """Return what says that final blocks have passed the last height that takes a transaction."""

    def ended(node: Node) -> int | None:
        info = _final_info(node)
        return decode.slot(decode.field(info, "absoluteSlot")) if _height_in(info) > last_height else None

    return ended


def without_hash(blockhash: str, *, since: datetime) -> Ended:
    """Return what says that the block that a transaction names is too old for it, of transactions without a known last height.

    The final state must be newer than `since`, when that block was known: a lagging node, which does not know it yet, would say
    the same.
    """

    def ended(node: Node) -> int | None:
        head = ask_head(node, commitment="finalized")
        return None if head.time <= since or _is_valid(node, blockhash, slot=head.height) else head.height

    return ended


def is_lost(pool: RpcPool, signature: str, ended: Ended) -> bool:
    """Whether every node says, in final state, that a transaction is in no block and can no longer be. Raises ChainError."""
    return all(pool.each(lambda node: _is_lost(node, signature, ended)))


def _is_lost(node: Node, signature: str, ended: Ended) -> bool:
    slot = ended(node)
    if slot is None:
        return False
    answer = _ask_history(node, signature)
    # One address may have several backends, some of which lag.
    return decode.in_context(answer)[0] >= slot and decode.has_succeeded(answer) is None


def _is_valid(node: Node, blockhash: str, *, slot: int) -> bool:
    options = {"commitment": "finalized", "minContextSlot": slot}
    value = decode.in_context(node.call("isBlockhashValid", [blockhash, options]))[1]
    if not isinstance(value, bool):
        raise MalformedAnswerError("whether a hash is valid is no yes or no")
    return value


def _ask_history(node: Node, signature: str) -> Any:
    options = {"searchTransactionHistory": True}
    return node.call("getSignatureStatuses", [[signature], options])


def _final_info(node: Node) -> Any:
    return node.call("getEpochInfo", [{"commitment": "finalized"}])


def _final_height(node: Node) -> int:
    return _height_in(_final_info(node))


def _height_in(info: Any) -> int:
    return decode.integer(decode.field(info, "blockHeight"), most=_MOST_HEIGHT)
