"""Calls contracts through nodes, and names those at the same address on all chains.

A refusal carries the contract's own message.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from wallets.chains.base import MalformedAnswerError
from wallets.chains.rpc.client import Node, RefusedError
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import keccak
from x402.exact.errors import RevertedError

if TYPE_CHECKING:
    from eth_abi.codec import ABICodec

PERMIT2: Final = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
"""Moves tokens by its owner's signature. Source: Uniswap/permit2, PyPI x402 2.25."""

PROXY: Final = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"
"""x402ExactPermit2Proxy: payers allow it to move their tokens to the recipient they signed. Source: PyPI x402 2.25."""

MULTICALL: Final = "0xcA11bde05977b3631167028862bE2a173976CA11"
"""Multicall3: many questions in one. Source: mds1/multicall3."""

_REVERT: Final = "revert"
_MOST_BYTES: Final = 8_192


@dataclass(frozen=True, slots=True)
class Function:
    """A contract's function, with the ABI types of its arguments and of its one result; "" for none."""

    name: str
    takes: tuple[str, ...] = ()
    answer: str = ""

    def call(self, *arguments: Any) -> bytes:
        """Return the call's data."""
        selector = keccak(f"{self.name}({','.join(self.takes)})".encode())[:4]
        return selector + coder().encode(self.takes, arguments)

    def read(self, data: bytes) -> Any:
        """Decode the result. Raises RevertedError if it has another form."""
        from eth_abi.exceptions import DecodingError

        if len(data) > _MOST_BYTES:
            # Many of its parts may be the same bytes, which are copied for each.
            raise RevertedError("reverted with an answer that is too long")
        try:
            (found,) = coder().decode([self.answer], data)
        except (DecodingError, OverflowError, UnicodeDecodeError):
            # The contract's fault, or there is none: no node is to blame.
            raise RevertedError("reverted without an answer of this form") from None
        return found


BALANCE_OF: Final = Function("balanceOf", ("address",), "uint256")


@cache
def coder() -> "ABICodec":
    """Return the ABI coder."""
    from web3 import Web3  # slow to import

    return Web3().codec


def read(pool: RpcPool, to: str, function: Function, *arguments: Any, block: str = "latest") -> Any:
    """Call a contract as of a block. Raises RevertedError, ChainError."""
    return function.read(attempt(pool, to, function.call(*arguments), block=block))


def attempt(pool: RpcPool, to: str, data: bytes, *, block: str = "latest") -> bytes:
    """Return a call's result without sending it. Raises RevertedError, ChainError."""
    return hex_bytes(ask(pool, "eth_call", [_call(to, data), block]))


def estimate(pool: RpcPool, to: str, data: bytes, *, sender: str) -> int:
    """Return the gas that a call takes now. Raises RevertedError if it would revert, ChainError."""
    answer = ask(pool, "eth_estimateGas", [_call(to, data) | {"from": sender}])
    if not isinstance(answer, str) or not answer.startswith("0x"):
        raise MalformedAnswerError("an estimate is no number")
    try:
        return int(answer, 16)
    except ValueError:
        raise MalformedAnswerError("an estimate is no number") from None


def code_of(pool: RpcPool, address: str) -> bytes:
    """Return a contract's code; empty for an account without. Raises ChainError."""
    return hex_bytes(pool.call("eth_getCode", [address, "latest"]))


def ask(pool: RpcPool, method: str, params: list[Any]) -> Any:
    """Ask the nodes; a revert is the contract's answer, not a node's failure. Raises RevertedError, ChainError."""
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
        # Without the node's name, which must not be published.
        return RevertedError(told[told.lower().index(_REVERT) :])


def _call(to: str, data: bytes) -> dict[str, str]:
    return {"to": to, "data": "0x" + data.hex()}
