"""What our gas account calls: our tokens and the standard's proxy, nothing else, and for so much gas at most."""

from dataclasses import dataclass
from typing import Final

from settlements.gas.keys import gas_keys
from wallets.chains.base import MalformedAnswerError
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.specs import ChainSpec
from x402.exact.errors import RevertedError
from x402.exact.evm import contracts
from x402.exact.evm.contracts import PROXY

MOST_GAS: Final = 500_000
"""A payer's smart wallet runs code of its own on our gas."""

_LEAST_GAS: Final = 21_000
# Storage of the token may have changed before the transaction's turn comes.
_SPARE_GAS: Final = 1.25

# By the nodes that told: what has code keeps it.
_deployed: set[tuple[tuple[str, ...], str]] = set()


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a contract: `to` in EIP-55."""

    to: str
    data: bytes


def has_code(pool: RpcPool, spec: ChainSpec, address: str) -> bool:
    """Whether a contract is there; it is asked for until it is. Raises ChainError."""
    place = (tuple(spec.rpc_urls), address)
    if place not in _deployed and contracts.code_of(pool, address):
        _deployed.add(place)
    return place in _deployed


def expect_ours(pool: RpcPool, spec: ChainSpec, call: Call) -> None:
    """Refuse a call of anything but our tokens and the standard's proxy. Raises RevertedError, ChainError.

    A call of nothing would succeed, move nothing, and be paid for.
    """
    if call.to not in {PROXY, *(token.address for token in spec.accepted_tokens)}:
        raise RevertedError("reverted: this contract is none of ours")
    if call.to == PROXY and not contracts.code_of(pool, PROXY):
        raise RevertedError("reverted: there is no such contract")


def gas_for(pool: RpcPool, call: Call) -> int:
    """Return what a call may take. Raises RevertedError where that is not enough, ChainError."""
    sender = next(iter(gas_keys()), call.to)
    gas = contracts.estimate(pool, call.to, call.data, sender=sender)
    if gas < _LEAST_GAS:
        raise MalformedAnswerError("an estimate is less than any call takes")
    if gas > MOST_GAS:
        raise RevertedError("reverted: it takes more gas than is paid for here")
    return min(int(gas * _SPARE_GAS), MOST_GAS)
