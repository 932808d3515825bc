"""Calls contracts through nodes, estimates what a call takes, and verifies keys' signatures as contracts do."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from wallets.chains.base import MalformedAnswerError
from wallets.chains.evm.balances import MULTICALL
from wallets.chains.evm.proofs import Signature, is_vouched_for, signer_of, unwrapped
from wallets.chains.family import ChainSpec
from wallets.chains.rpc.client import Node, RefusedError
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import keccak

if TYPE_CHECKING:
    from eth_abi.codec import ABICodec

# Imported from here by the kinds of authorisations.
__all__ = ["MULTICALL", "Signature", "is_vouched_for", "unwrapped"]

KEY_BYTES: Final = 65
"""The length of a key's signature: r, s and v."""

_REVERT: Final = "revert"
_MOST_BYTES: Final = 8_192

MOST_GAS: Final = 500_000
"""A payer's smart wallet runs its own code with our gas."""

USUAL_GAS: Final = 120_000
"""The gas limit of a key's payment, as long as there is no signature to estimate. Where a chain counts Ethereum's data as gas, an estimate has it.

Source: OffchainLabs/nitro, docs/arbos/gas.md.
"""

_LEAST_GAS: Final = 21_000
# The token's storage may have changed before the transaction runs.
_SPARE_GAS: Final = 1.25
# By node: deployed code stays.
_deployed: set[tuple[tuple[str, ...], str]] = set()


class RevertedError(Exception):
    """A contract reverts a call; the message is its own."""


class TooMuchGasError(RevertedError):
    """A call takes more gas than is paid for here."""


def is_of_key(payer: str, signed: bytes, signature: bytes) -> bool:
    """Whether the key of an account signed 32 bytes. Raises ValueError for an invalid `v`."""
    if len(signature) != KEY_BYTES or signature[-1] not in (0, 1, 27, 28):
        raise ValueError("no key signs so")
    return signer_of(signed, signature) == bytes.fromhex(payer[2:])


def parts_of(signature: bytes) -> tuple[bytes, bytes, int]:
    """Return r, s and v of a key's signature, as contracts take them."""
    r, s, v = signature[:32], signature[32:64], signature[64]
    # Some wallets number the two points from 0.
    return r, s, v + 27 if v in (0, 1) else v


@dataclass(frozen=True, slots=True)
class Function:
    """A contract's function, with the ABI types of its arguments and of its one result; "" for none."""

    name: str
    takes: tuple[str, ...] = ()
    answer: str = ""

    @property
    def selector(self) -> bytes:
        """The four bytes that a call of it begins with."""
        return keccak(f"{self.name}({','.join(self.takes)})".encode())[:4]

    def call(self, *arguments: Any) -> bytes:
        """Return the call's data."""
        return self.selector + coder().encode(self.takes, arguments)

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


def attempt(pool: RpcPool, to: str, data: bytes, *, sender: str = "", block: str = "latest") -> bytes:
    """Return a call's result without sending it, by any account or by `sender`. Raises RevertedError, ChainError."""
    by = {"from": sender} if sender else {}
    return hex_bytes(ask(pool, "eth_call", [_call(to, data) | by, block]))


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


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a contract: `to` in EIP-55, and the only account that may call it so; "" for any."""

    to: str
    data: bytes
    sender: str = ""


def has_code(pool: RpcPool, spec: ChainSpec, address: str) -> bool:
    """Return whether a contract is deployed; it is checked until it is. Raises ChainError."""
    place = (tuple(spec.rpc_urls), address)
    if place not in _deployed and code_of(pool, address):
        _deployed.add(place)
    return place in _deployed


def gas_for(pool: RpcPool, call: Call, *, sender: str) -> int:
    """Return the gas limit of a call by this account. Raises RevertedError if the maximum is not enough, ChainError."""
    gas = estimate(pool, call.to, call.data, sender=sender)
    if gas < _LEAST_GAS:
        raise MalformedAnswerError("an estimate is less than any call takes")
    if gas > MOST_GAS:
        raise TooMuchGasError("reverted: it takes more gas than is paid for here")
    return min(int(gas * _SPARE_GAS), MOST_GAS)
