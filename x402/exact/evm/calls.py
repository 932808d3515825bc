"""The calls that our gas account may send: of our tokens and the standard's proxy only, with a gas limit."""

from dataclasses import dataclass
from typing import Final

from settlements.gas.keys import gas_keys
from wallets.chains.base import MalformedAnswerError
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.specs import ChainSpec
from x402.exact.errors import RevertedError, TooMuchGasError
from x402.exact.evm import contracts
from x402.exact.evm.contracts import PROXY

MOST_GAS: Final = 500_000
"""A payer's smart wallet runs its own code with our gas."""

USUAL_GAS: Final = 120_000
"""The gas limit of a key's payment, before it is estimated."""

_LEAST_GAS: Final = 21_000
# The token's storage may have changed before the transaction runs.
_SPARE_GAS: Final = 1.25

# By node: deployed code stays.
_deployed: set[tuple[tuple[str, ...], str]] = set()


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a contract: `to` in EIP-55."""

    to: str
    data: bytes


def has_code(pool: RpcPool, spec: ChainSpec, address: str) -> bool:
    """Return whether a contract is deployed; it is checked until it is. Raises ChainError."""
    place = (tuple(spec.rpc_urls), address)
    if place not in _deployed and contracts.code_of(pool, address):
        _deployed.add(place)
    return place in _deployed


def expect_ours(pool: RpcPool, spec: ChainSpec, call: Call) -> None:
    """Refuse calls of anything but our tokens and the standard's proxy. Raises RevertedError, ChainError.

    A call to an address without code would succeed, move nothing, and cost gas.
    """
    if call.to not in {PROXY, *(token.address for token in spec.accepted_tokens)}:
        raise RevertedError("reverted: this contract is none of ours")
    if call.to == PROXY and not contracts.code_of(pool, PROXY):
        raise RevertedError("reverted: there is no such contract")


def gas_for(pool: RpcPool, call: Call) -> int:
    """Return a call's gas limit. Raises RevertedError if the maximum is not enough, ChainError."""
    sender = next(iter(gas_keys()), call.to)
    gas = contracts.estimate(pool, call.to, call.data, sender=sender)
    if gas < _LEAST_GAS:
        raise MalformedAnswerError("an estimate is less than any call takes")
    if gas > MOST_GAS:
        raise TooMuchGasError("reverted: it takes more gas than is paid for here")
    return min(int(gas * _SPARE_GAS), MOST_GAS)
