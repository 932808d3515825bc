"""Asking contracts over nodes, in the library's ABI form. What a contract refuses is told in its own words."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from facilitator.standard.errors import RevertedError
from wallets.chains.base import MalformedAnswerError
from wallets.chains.pool import RpcPool
from wallets.chains.rpc import Node, RefusedError

if TYPE_CHECKING:
    from eth_abi.codec import ABICodec

Abi = Sequence[dict[str, Any]]

_REVERT: Final = "revert"


def encode_call(abi: Abi, name: str, *arguments: Any) -> bytes:
    """Return the data of a call."""
    from eth_utils.abi import function_abi_to_4byte_selector, get_abi_input_types

    function = _function(abi, name)
    coded = coder().encode(get_abi_input_types(function), arguments)
    return bytes(function_abi_to_4byte_selector(function)) + coded


@cache
def coder() -> "ABICodec":
    """Return what writes and reads the arguments of contracts."""
    from web3 import Web3  # slow to import

    return Web3().codec


def read(
    pool: RpcPool,
    to: str,
    abi: Abi,
    name: str,
    *arguments: Any,
    block: str = "latest",
) -> Any:
    """Ask a contract, as it was at a block. Raises RevertedError, ChainError."""
    data = encode_call(abi, name, *arguments)
    answer = ask(pool, "eth_call", [_call(to, data), block])
    return _decode(abi, name, hex_bytes(answer))


def estimate(pool: RpcPool, to: str, data: bytes, *, sender: str) -> int:
    """Return how much gas a call takes now. Raises RevertedError where it would not get through, ChainError."""
    answer = ask(pool, "eth_estimateGas", [_call(to, data) | {"from": sender}])
    if not isinstance(answer, str) or not answer.startswith("0x"):
        raise MalformedAnswerError("an estimate is no number")
    try:
        return int(answer, 16)
    except ValueError:
        raise MalformedAnswerError("an estimate is no number") from None


def code_of(pool: RpcPool, address: str) -> bytes:
    """Return a contract's code; empty for an account without. Raises ChainError."""
    return hex_bytes(ask(pool, "eth_getCode", [address, "latest"]))


def expect_code(pool: RpcPool, address: str) -> None:
    """Refuse a call of nothing: it succeeds, moves nothing, and is paid for. Raises RevertedError, ChainError."""
    if not code_of(pool, address):
        raise RevertedError("reverted: there is no such contract")


def ask(pool: RpcPool, method: str, params: list[Any]) -> Any:
    """Ask the nodes; a revert is the contract's answer, and no fault of a node. Raises RevertedError, ChainError."""
    answer = pool.run(lambda node: _ask(node, method, params))
    if isinstance(answer, RevertedError):
        raise answer
    return answer


def hex_bytes(answer: Any) -> bytes:
    """Read bytes in hex. Raises MalformedAnswerError."""
    try:
        return bytes.fromhex(answer.removeprefix("0x"))
    except (AttributeError, ValueError):
        raise MalformedAnswerError("an answer is not in hex") from None


def _ask(node: Node, method: str, params: list[Any]) -> Any:
    try:
        return node.call(method, params)
    except RefusedError as error:
        told = str(error)
        if _REVERT not in told.lower():
            raise
        # Without the node's name, which is nobody's business.
        return RevertedError(told[told.lower().index(_REVERT) :])


def _call(to: str, data: bytes) -> dict[str, str]:
    return {"to": to, "data": "0x" + data.hex()}


def _decode(abi: Abi, name: str, data: bytes) -> Any:
    from eth_abi.exceptions import DecodingError
    from eth_utils.abi import get_abi_output_types

    types = get_abi_output_types(_function(abi, name))
    if not types:
        return None
    try:
        found = coder().decode(types, data)
    except DecodingError:
        # The contract's doing, or nothing is there: no node is to blame.
        raise RevertedError("reverted without an answer of this form") from None
    return found[0] if len(found) == 1 else list(found)


def _function(abi: Abi, name: str) -> Any:
    return next(one for one in abi if one.get("name") == name)
