"""A chain of accounts in memory, which misbehaves on command.

The real nodes of the tests (LiteSVM, the TON sandbox) cannot be told to forget a transaction that they listed, to bring it
back, to break on one account's data, or to count a thousand accounts' requests. What the account watcher does about these
is shown on this ledger; that it reads real chains is shown on the real nodes.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from wallets.chains.base import (
    Account,
    AccountReading,
    BlockRef,
    ChainUnavailableError,
    FoundTransaction,
    Head,
    HeadCheck,
    TokenTransfer,
    any_head,
)
from wallets.chains.rpc.client import Call

BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
BLOCK = timedelta(milliseconds=400)
OVERLAP = 20


@dataclass(slots=True)
class Ledger:
    """Implements AccountAdapter. Every question costs a request, every account of a reading another one."""

    chain: str = "solana"
    token: str = "USDC"
    height: int = 1_000
    at_once: int = 10
    requests: int = 0
    agreed: bool = True
    finalized_behind: int = 32
    confirmations: int = 1
    first: str = "genesis"
    # Called with each account that is read; what it raises is what the reading raises.
    trouble: Callable[[Account], None] = lambda account: None
    failure: Exception | None = None
    # Why nobody can be asked what is lost.
    forgetful: Exception | None = None
    # A block that is reported as the newest although it is not.
    false_head: BlockRef | None = None
    transfers: list[TokenTransfer] = field(default_factory=list)
    # What another node of ours still knows, though it is not listed any more.
    known_elsewhere: set[str] = field(default_factory=set)
    asked: list[Account] = field(default_factory=list)

    @property
    def accounts_at_once(self) -> int:
        return self.at_once

    def pay(
        self, key: bytes, address: str, units: int, *, sender_key: bytes = b"", sender: str = "payer"
    ) -> TokenTransfer:
        """Put a transfer into a new block."""
        self.height += 1
        transfer = TokenTransfer(
            chain=self.chain,
            tx_hash=hashlib.sha256(f"{self.height}:{units}".encode()).hexdigest(),
            position=0,
            token=self.token,
            token_address="token",
            units=units,
            sender=sender,
            sender_key=sender_key,
            recipient_key=key,
            recipient=address,
            block_height=self.height,
            block_hash=self.name(self.height),
            block_time=self.time(self.height),
        )
        self.transfers.append(transfer)
        return transfer

    def drop(self, transfer: TokenTransfer) -> None:
        """Fork it away."""
        self.transfers.remove(transfer)

    def mine_again(self, transfer: TokenTransfer) -> None:
        """Bring it back, in a new block."""
        self.height += 1
        self.transfers.append(
            replace(
                transfer, block_height=self.height, block_hash=self.name(self.height), block_time=self.time(self.height)
            )
        )

    def name(self, height: int) -> str:
        return f"{self.first}/{height}"

    def time(self, height: int) -> datetime:
        return BEGAN + height * BLOCK

    def block(self, height: int) -> BlockRef:
        return BlockRef(height, self.name(height), "", self.time(height))

    def head(self, *, check: HeadCheck = any_head) -> Head:
        self._ask()
        block = self.false_head or self.block(self.height)
        check(block)
        return Head(block=block, agreed=self.agreed)

    def genesis(self) -> str:
        self._ask()
        return self.first

    def final_height(self, head: Head, *, read_height: int) -> int:
        return min(head.block.height, read_height) - self.confirmations + 1

    def finalized(self) -> int:
        self._ask()
        return self.height - self.finalized_behind

    def subscriptions(self, accounts: Sequence[Account]) -> list[Call]:
        return [("follow", [account.address]) for account in accounts]

    def read_accounts(self, accounts: Sequence[Account], *, head: Head) -> list[AccountReading]:
        self.requests += len(accounts)
        self._ask()
        self.asked += accounts
        for account in accounts:
            self.trouble(account)
        return [AccountReading(account.key, head.block, self._of(account, head)) for account in accounts]

    def lost(self, transfers: Sequence[TokenTransfer]) -> list[bool]:
        self._ask()
        if self.forgetful is not None:
            raise self.forgetful
        known = {one.tx_hash for one in self.transfers} | self.known_elsewhere
        return [one.tx_hash not in known for one in transfers]

    def witness(self, transfers: Sequence[TokenTransfer]) -> list[bool] | None:
        self._ask()
        return [one in self.transfers for one in transfers]

    def find(self, tx_hash: str) -> FoundTransaction | None:
        self._ask()
        own = [one for one in self.transfers if one.tx_hash == tx_hash]
        if not own:
            return None
        return FoundTransaction(
            chain=self.chain,
            tx_hash=tx_hash,
            succeeded=True,
            is_final=own[0].block_height <= self.height - self.finalized_behind,
            block_height=own[0].block_height,
            block_time=own[0].block_time,
            movements=(),
            transfers=own,
        )

    def close(self) -> None:
        """Nothing is open."""

    def _of(self, account: Account, head: Head) -> list[TokenTransfer]:
        return [
            one
            for one in self.transfers
            if account.key in (one.recipient_key, one.sender_key)
            and account.height - OVERLAP < one.block_height <= head.block.height
        ]

    def _ask(self) -> None:
        self.requests += 1
        if self.failure is not None:
            raise self.failure


def no_answer() -> ChainUnavailableError:
    """What a node that is down comes to."""
    return ChainUnavailableError("the node does not answer")
