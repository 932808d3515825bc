"""A chain in a laboratory: somebody pays there, and its reader is asked what it saw.

What differs between chains is here; what must not differ is in the tests beside it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from wallets.chains.base import Account, AccountAdapter, BlockAdapter, BlockRef, Hint, TokenTransfer
from wallets.chains.family import ChainSpec, TokenSpec
from wallets.chains.registry import open_pool

Adapter = BlockAdapter | AccountAdapter
USUAL_PAGE = 50


@dataclass(frozen=True)
class Wallet:
    """A merchant's own wallet. `secret` is whatever the lab needs to pay from it."""

    key: bytes
    address: str
    secret: Any


class Lab(ABC):
    """One chain. `impossible` says why a case cannot exist there; `huge_units` is near the most that a transfer can move."""

    impossible: Mapping[str, str] = {}
    huge_units: int
    other = ""
    """The contract of a token that is recorded and that no checkout accepts, once somebody paid in it."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Where the chain's node answers."""

    @abstractmethod
    def spec(self, *urls: str) -> ChainSpec:
        """The chain on these nodes."""

    @abstractmethod
    def create_wallet(self) -> Wallet:
        """A wallet nobody has paid yet."""

    @property
    @abstractmethod
    def payer(self) -> str:
        """The address from which `pay` pays."""

    @abstractmethod
    def pay(self, *payments: tuple[Wallet, int]) -> str:
        """Pay in one transaction, and let it be confirmed; return its hash, as all who pay here do."""

    @abstractmethod
    def pay_huge(self, wallet: Wallet) -> None:
        """Pay `huge_units`."""

    @abstractmethod
    def pay_fake(self, wallet: Wallet, units: int) -> str:
        """Pay in a token that calls itself by the same name."""

    @abstractmethod
    def pay_other(self, wallet: Wallet, units: int) -> str:
        """Pay in the token `other`, which the readers opened from then on record."""

    @abstractmethod
    def pay_coin(self, wallet: Wallet, units: int) -> str:
        """Pay in the chain's own coin."""

    @abstractmethod
    def pay_later(self, wallet: Wallet, units: int) -> str:
        """Pay by what waits for its block until `settle`."""

    @abstractmethod
    def settle(self) -> None:
        """Let what waits into a block."""

    @abstractmethod
    def fail_to_pay(self, wallet: Wallet, units: int) -> str:
        """Send a payment that is on the chain and fails there."""

    @abstractmethod
    def approve(self, wallet: Wallet, units: int) -> None:
        """Allow a wallet to take units, which moves none."""

    @abstractmethod
    def pay_oneself(self, wallet: Wallet, units: int) -> str:
        """Move a wallet's units to itself; it has them already."""

    @abstractmethod
    def wait(self, blocks: int) -> None:
        """Let blocks pass in which nothing happens."""

    @abstractmethod
    def fork(self, since: BlockRef) -> None:
        """Replace every block after this one by others without its transactions."""

    @abstractmethod
    def go_back(self, to: BlockRef) -> None:
        """Take the blocks after this one away."""

    @contextmanager
    def opened(self, *urls: str, page: int = USUAL_PAGE) -> Iterator[Adapter]:
        """The chain's reader, on the honest node unless others are given."""
        adapter = self.open(*(urls or (self.url,)), page=page)
        yield adapter
        adapter.close()

    def open(self, *urls: str, page: int) -> Adapter:
        """A reader that reads so many rows at once, where its chain is read in rows."""
        del page
        spec = self.recording(*urls)
        return spec.family.open_adapter(spec, open_pool(spec))

    def recording(self, *urls: str) -> ChainSpec:
        """The chain on these nodes, of whose tokens that no checkout accepts it records `other` alone."""
        spec = self.spec(*urls)
        told = {one.symbol: one for one in spec.accepted_tokens}
        if self.other:
            told["OTHER"] = TokenSpec("OTHER", self.other, 6, accepted=False)
        return replace(spec, tokens=told)

    def mark(self) -> BlockRef:
        """The newest block."""
        with self.opened() as adapter:
            return adapter.head().block

    @abstractmethod
    def observe(self, adapter: Any, since: BlockRef, *wallets: Wallet, page: int = USUAL_PAGE) -> list[TokenTransfer]:
        """What arrived in these wallets after a block. Raises ChainError."""

    @abstractmethod
    def gone(self, adapter: Any, transfers: list[TokenTransfer]) -> list[bool]:
        """Of each transfer, whether the reader says that its transaction is not where it was any more."""


class BlockLab(Lab):
    """A chain that is read block by block."""

    def observe(
        self, adapter: BlockAdapter, since: BlockRef, *wallets: Wallet, page: int = USUAL_PAGE
    ) -> list[TokenTransfer]:
        """Read windows of `page` blocks."""
        head = adapter.head()
        keys = {wallet.key for wallet in wallets}
        found: list[TokenTransfer] = []
        for first in range(since.height + 1, head.block.height + 1, page):
            last = min(first + page - 1, head.block.height)
            reading = adapter.read(first, last, head=head, hint=Hint(frozenset(keys)), ours=lambda asked: asked & keys)
            assert (reading.first, reading.last) == (first, last)
            found += reading.transfers
        return found

    def gone(self, adapter: BlockAdapter, transfers: list[TokenTransfer]) -> list[bool]:
        """Another block stands at its height."""
        blocks = adapter.blocks([one.block_height for one in transfers])
        return [block.hash != one.block_hash for block, one in zip(blocks, transfers, strict=True)]


class AccountLab(Lab):
    """A chain that is read account by account."""

    def observe(
        self, adapter: AccountAdapter, since: BlockRef, *wallets: Wallet, page: int = USUAL_PAGE
    ) -> list[TokenTransfer]:
        """Read the accounts; the page is the reader's own."""
        del page
        accounts = [Account(wallet.key, wallet.address, since.height, since.time) for wallet in wallets]
        readings = adapter.read_accounts(accounts, head=adapter.head())
        assert [reading.key for reading in readings] == [one.key for one in accounts]
        assert all(one.recipient_key == reading.key for reading in readings for one in reading.transfers)
        return [transfer for reading in readings for transfer in reading.transfers]

    def gone(self, adapter: AccountAdapter, transfers: list[TokenTransfer]) -> list[bool]:
        """No node knows it."""
        return adapter.lost(transfers)
