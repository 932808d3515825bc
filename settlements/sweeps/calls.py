"""The flush calls of forwarders, and their gas. Pure arithmetic and encoding.

Gas was measured on a local node with the contracts of `wallets/forwarders/contracts` (benchmarks/results has the figures).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum, keccak

FLUSH: Final = keccak(b"flush(address,bytes32,address)")[:4]
FLUSH_MANY: Final = keccak(b"flush_many((address,bytes32)[],address)")[:4]
FACTORY: Final = checksum(FACTORY_ADDRESS)

MOST_ITEMS: Final = 150
"""The contract's limit of items per call."""

BATCH_GAS: Final = 12_000_000
"""No node accepts a transaction of more than 2**24 gas (EIP-7825), and one that big waits for room in a block."""

TRANSACTION_GAS: Final = 60_000
FIRST_GAS: Final = 77_000
"""Gas of an item whose forwarder is deployed with it, to a wallet that never held the token: 72,000 was measured."""

AGAIN_GAS: Final = 18_000
"""Gas of an item whose forwarder is deployed already: 14,800 was measured."""

# The contract stops if less than this is left for each item, so that no estimate starves a token's transfer.
FLOOR_GAS: Final = 330_000

_SPARE_NUMERATOR: Final = 13
_SPARE_DENOMINATOR: Final = 10
_WORD: Final = 32


@dataclass(frozen=True, slots=True)
class Item:
    """A forwarder to empty: its derivation, balance, and whether it was emptied before."""

    deposit_id: int
    merchant_id: int
    purpose: str
    destination: bytes
    nonce: bytes
    units: int
    is_deployed: bool

    @property
    def gas(self) -> int:
        """Return the approximate gas of emptying it."""
        return AGAIN_GAS if self.is_deployed else FIRST_GAS


def batches(items: Iterable[Item], *, gas: int = BATCH_GAS) -> Iterator[list[Item]]:
    """Group items into batches that fill a transaction's gas; items with the same destination are adjacent.

    A transfer to a wallet that the same transaction paid already is cheaper.
    """
    batch: list[Item] = []
    used = TRANSACTION_GAS
    for item in sorted(items, key=lambda item: (item.destination, item.deposit_id)):
        if batch and (used + item.gas > gas or len(batch) == MOST_ITEMS):
            yield batch
            batch, used = [], TRANSACTION_GAS
        batch.append(item)
        used += item.gas
    if batch:
        yield batch


def gas_of(items: Sequence[Item]) -> int:
    """Return a batch's approximate gas."""
    return TRANSACTION_GAS + sum(item.gas for item in items)


def gas_limit_of(items: Sequence[Item]) -> int:
    """Return a batch's gas limit: tokens with block lists and fees cost more than others.

    Unused gas is not paid. If it is slightly too low, the contract reverts the whole batch.
    """
    return gas_of(items) * _SPARE_NUMERATOR // _SPARE_DENOMINATOR + FLOOR_GAS


def gas_within(limit: int) -> int:
    """Return the countable gas of a batch whose limit must not exceed `limit`; at most that of a full batch."""
    counted = (limit - FLOOR_GAS) * _SPARE_DENOMINATOR // _SPARE_NUMERATOR
    return min(BATCH_GAS, counted)


def calldata(items: Sequence[Item], token: bytes) -> bytes:
    """Return the factory's call that empties these forwarders of a token (20 bytes of its contract)."""
    if len(items) == 1:
        item = items[0]
        return FLUSH + _padded(item.destination) + item.nonce + _padded(token)
    listed = b"".join(_padded(item.destination) + item.nonce for item in items)
    offset = 2 * _WORD
    return b"".join((FLUSH_MANY, _number(offset), _padded(token), _number(len(items)), listed))


def _padded(address: bytes) -> bytes:
    return address.rjust(_WORD, b"\0")


def _number(value: int) -> bytes:
    return value.to_bytes(_WORD, "big")
