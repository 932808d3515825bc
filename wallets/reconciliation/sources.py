"""Further sources of a chain: each of its nodes alone, and TronGrid. One may report what another left out."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol, cast

from wallets.chains.base import (
    AccountAdapter,
    BlockAdapter,
    BlockRef,
    ChainAdapter,
    Head,
    Hint,
    OursAsker,
    RangeTooLargeError,
    ReorgDuringReadError,
    TokenTransfer,
)
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.chains.rpc.client import Node
from wallets.watchers.blocks import LARGEST_WINDOW, WindowSize, window_end


class Ledger(Protocol):
    """A source other than a node that lists an account's transfers (TronGrid)."""

    @property
    def label(self) -> str:
        """Return its name without secrets."""

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far."""

    def transfers(self, keys: Collection[bytes], first: BlockRef, last: BlockRef) -> list[TokenTransfer]:
        """Return all transfers to these accounts in these blocks.

        Raises ChainMismatchError if it knows another block at the end, and ChainError for other errors of the source.
        """

    def close(self) -> None:
        """Close the connections."""


@dataclass(frozen=True, slots=True)
class BlockNode:
    """One node of a chain that is read by blocks. `label` is scheme, host and port."""

    label: str
    adapter: BlockAdapter

    def transfers(
        self, first: int, last: BlockRef, *, head: Head, hint: Hint | None, ours: OursAsker
    ) -> list[TokenTransfer]:
        """Read blocks whole, up to one that the caller knows by its hash. Raises ChainError.

        `hint` and `ours` are as for `BlockAdapter.read`.
        """
        found: list[TokenTransfer] = []
        sizes, window, parent = WindowSize(), LARGEST_WINDOW, ""
        while first <= last.height:
            end = window_end(first, window, head_height=head.block.height)
            end = min(end, last.height)
            try:
                reading = self.adapter.read(first, end, head=head, hint=hint, ours=ours)
            except RangeTooLargeError:
                if window == 1:
                    raise
                window = sizes.after_refusal(window)
                continue
            if parent not in {"", reading.parent_hash}:
                raise ReorgDuringReadError("two windows do not follow each other")
            parent = reading.blocks[-1].hash
            found += reading.transfers
            window = sizes.after_success(window, read=end - first + 1)
            first = end + 1
        if parent not in {"", last.hash}:
            raise ReorgDuringReadError("the blocks read lead to another fork")
        return found


@dataclass(frozen=True, slots=True)
class AccountNode:
    """One node of a chain that is read account by account. `label` is scheme, host and port."""

    label: str
    adapter: AccountAdapter


@dataclass(frozen=True, slots=True)
class Witness:
    """One node, asked whether it knows transfers."""

    label: str
    # A pool of two nodes with this one as the spare: a witness is always the node that is not in use.
    adapter: ChainAdapter


def block_nodes(spec: ChainSpec) -> list[BlockNode]:
    """Return each node of a chain that is read by blocks, without asking it."""
    return [BlockNode(label, cast("BlockAdapter", adapter)) for label, adapter in _open_alone(spec)]


def account_nodes(spec: ChainSpec) -> list[AccountNode]:
    """Return each node of a chain that is read by account, without asking it."""
    return [AccountNode(label, cast("AccountAdapter", adapter)) for label, adapter in _open_alone(spec)]


def witnesses(spec: ChainSpec) -> list[Witness]:
    """Return a witness for each node, without asking it; none if there is only one node."""
    count = len(spec.rpc_urls)
    if count == 1:
        return []
    found = []
    for place in range(count):
        pair = _with_nodes(spec, (place + 1) % count, place)
        label = Node(spec.rpc_urls[place]).label
        found.append(Witness(label, pair.family.open_adapter(pair, open_pool(pair))))
    return found


def ledgers(spec: ChainSpec) -> list[Ledger]:
    """Return the sources other than nodes, without asking them."""
    if not spec.grid_urls:
        return []
    # Imported only where it is used: most installations have none.
    from wallets.chains.tron.grid import TronGridSource

    return [TronGridSource(spec, url) for url in spec.grid_urls]


def source_count(spec: ChainSpec) -> int:
    """Return how many sources a chain has."""
    return len(spec.rpc_urls) + len(spec.grid_urls)


def _open_alone(spec: ChainSpec) -> list[tuple[str, ChainAdapter]]:
    found: list[tuple[str, ChainAdapter]] = []
    for place in range(len(spec.rpc_urls)):
        alone = _with_nodes(spec, place)
        pool = open_pool(alone)
        found.append((pool.current_label, alone.family.open_adapter(alone, pool)))
    return found


def _with_nodes(spec: ChainSpec, *places: int) -> ChainSpec:
    """Return the chain with only these of its nodes, and their keys."""
    urls = tuple(spec.rpc_urls[place] for place in places)
    keys = spec.api_keys + ("",) * (len(spec.rpc_urls) - len(spec.api_keys))
    return replace(spec, rpc_urls=urls, api_keys=tuple(keys[place] for place in places))
