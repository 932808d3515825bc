"""Asking contracts over nodes, in the library's ABI form. What a contract refuses is told in its own words."""

from collections.abc import Sequence
from typing import Any, Final

from facilitator.standard.errors import RevertedError
from wallets.chains.base import MalformedAnswerError
from wallets.chains.pool import RpcPool
from wallets.chains.rpc import Node, RefusedError

Abi = Sequence[dict[str, Any]]

_REVERT: Final = "revert"


def encode_call(abi: Abi, name: str, *arguments: Any) -> bytes:
    """Return the data of a call."""
    from x402.mechanisms.evm.multicall import encode_contract_call

    return encode_contract_call(list(abi), name, *arguments)


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
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    function = next(one for one in abi if one.get("name") == name)
    types = [_type(one) for one in function.get("outputs", [])]
    if not types:
        return None
    try:
        found = decode(types, data)
    except DecodingError:
        # The contract's doing, or nothing is there: no node is to blame.
        raise RevertedError("reverted without an answer of this form") from None
    return found[0] if len(found) == 1 else list(found)


def _type(entry: dict[str, Any]) -> str:
    kind: str = entry["type"]
    if not kind.startswith("tuple"):
        return kind
    inner = ",".join(_type(one) for one in entry["components"])
    return f"({inner}){kind.removeprefix('tuple')}"
