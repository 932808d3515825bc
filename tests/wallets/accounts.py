"""An account watcher over a ledger in memory, with a clock of its own, and wallets for it to read."""

import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from solders.pubkey import Pubkey

from tests.factories import make_merchant
from tests.wallets.ledger import BEGAN, Ledger
from wallets.chains.base import TokenTransfer
from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains
from wallets.models import AccountCursor, ReceivingWallet, WatchedWallet
from wallets.watchers.accounts import AccountWatcher
from wallets.watchers.passes import PassOutcome

NOW = BEGAN + timedelta(days=1)
NODES = {"SOLANA_RPC_URLS": "http://127.0.0.1:1", "TON_RPC_URLS": "http://127.0.0.1:2"}


def solana_spec(**settings: str) -> ChainSpec:
    """Solana on a local network, with budget enough for most tests."""
    given = {"SOLANA_REQUESTS_PER_MINUTE": "60000"} | NODES
    given |= {f"SOLANA_{key}": value for key, value in settings.items()}
    return load_chains("local", given)["solana"]


@dataclass(slots=True)
class Watched:
    """A ledger and its watcher. `seconds` have passed since the test began."""

    ledger: Ledger = field(default_factory=Ledger)
    spec: ChainSpec = field(default_factory=solana_spec)
    owner: str = "one"
    seconds: float = 0.0
    watcher: AccountWatcher = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """As a new process would begin."""
        self.watcher = AccountWatcher(self.spec, self.ledger, owner=self.owner, clock=lambda: self.seconds)

    @property
    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def tick(self, *, after: float = 0.0) -> PassOutcome:
        """Do one pass, so many seconds after the last one."""
        self.seconds += after
        return self.watcher.tick(now=self.now)

    def run(self, seconds: float, *, poll: float = 1.0) -> None:
        """Do a pass each `poll` seconds, as the watching loop does."""
        for _ in range(int(seconds / poll)):
            self.tick(after=poll)

    def pay(
        self,
        wallet: ReceivingWallet | WatchedWallet,
        units: int = 25,
        *,
        by: ReceivingWallet | WatchedWallet | None = None,
    ) -> TokenTransfer:
        return self.ledger.pay(
            bytes(wallet.key),
            wallet.address,
            units,
            sender_key=bytes(by.key) if by else b"",
            sender=by.address if by else "payer",
        )

    def asked(self, wallet: ReceivingWallet | WatchedWallet) -> int:
        """How often this wallet was read."""
        return sum(one.key == bytes(wallet.key) for one in self.ledger.asked)


def make_account(*, expected_until: datetime | None = None) -> ReceivingWallet:
    """A merchant's wallet on Solana that nobody else has; idle unless somebody is expected to pay."""
    key = secrets.token_bytes(32)
    return ReceivingWallet.objects.create(
        merchant=make_merchant(), chain="solana", address=str(Pubkey(key)), key=key, expected_until=expected_until
    )


def make_accounts(count: int, **values: datetime) -> list[ReceivingWallet]:
    """Many at once, all of one merchant that replaced its wallet that often."""
    merchant = make_merchant()
    keys = [secrets.token_bytes(32) for _ in range(count)]
    wallets = [
        ReceivingWallet(merchant=merchant, chain="solana", address=str(Pubkey(key)), key=key, retired_at=NOW, **values)
        for key in keys
    ]
    return ReceivingWallet.objects.bulk_create(wallets)


def cursor_of(wallet: ReceivingWallet | WatchedWallet) -> AccountCursor:
    """How far a wallet was read."""
    return AccountCursor.objects.get(chain=wallet.chain, key=wallet.key)


def with_budget(spec: ChainSpec, per_minute: int) -> ChainSpec:
    """The chain with another request budget."""
    return replace(spec, requests_per_minute=per_minute)
