"""The local chains that are read account by account, in one form: whom to pay, how to fork, how to begin anew."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from django.utils import timezone
from solders.keypair import Keypair

from tests.factories import make_merchant, make_wallet
from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains, open_pool
from wallets.models import ReceivingWallet
from wallets.watchers.accounts import AccountWatcher
from wallets.watchers.passes import PassOutcome

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode


class AccountChain(Protocol):
    """A local chain on which somebody pays."""

    name: str
    url: str
    settings: dict[str, str]

    def new_address(self) -> str:
        """An address that can be paid to."""

    def pay(self, to: str, units: int) -> str:
        """Pay, in a block that watchers can see; return the transaction's name."""

    def fork(self) -> None:
        """Undo the newest transaction."""

    def settle(self) -> None:
        """Let what was paid become final."""

    def pass_time(self) -> None:
        """Let so many blocks follow that what was before is not read again."""

    def begin_anew(self) -> None:
        """Replace the chain by another one."""


@dataclass
class OnSolana:
    """Solana's local node."""

    node: "SolanaNode"
    name = "solana"

    def __post_init__(self) -> None:
        self.url = self.node.url
        self.settings: dict[str, str] = {}

    def new_address(self) -> str:
        return str(Keypair().pubkey())

    def pay(self, to: str, units: int) -> str:
        self.before = self.node.slot()
        signature = self.node.pay(to, units)
        self.node.advance(2)
        return signature

    def fork(self) -> None:
        # The newest slot takes a payment, and that may have been this one.
        self.node.rollback(after=self.before - 1)
        self.node.advance(5)

    def settle(self) -> None:
        self.node.finalize()

    def pass_time(self) -> None:
        self.node.advance(200)

    def begin_anew(self) -> None:
        self.node.reset()


@dataclass
class OnTon:
    """TON's local node."""

    node: "TonNode"
    name = "ton"

    def __post_init__(self) -> None:
        self.url = self.node.url
        self.settings = {"TON_TOKEN_USDT": self.node.usdt}

    def new_address(self) -> str:
        return str(self.node.create_wallet().address)

    def pay(self, to: str, units: int) -> str:
        self.before = self.node.head()
        tx_hash = self.node.pay(to, units)
        return tx_hash

    def fork(self) -> None:
        head = self.node.head()
        self.node.roll_back(to=self.before)
        # A shorter chain would be one that lags.
        self.node.advance(head - self.before + 5)

    def settle(self) -> None:
        self.node.advance(3)

    def pass_time(self) -> None:
        self.node.elapse(600)
        self.node.advance(200)

    def begin_anew(self) -> None:
        self.node.stop()
        self.node.start()


def spec_of(chain: AccountChain, *urls: str, **settings: str) -> ChainSpec:
    """The chain as configured, its own node in use unless others are named."""
    prefix = chain.name.upper()
    given = {f"{prefix}_{key}": value for key, value in settings.items()}
    base = {f"{prefix}_RPC_URLS": ",".join(urls) or chain.url, f"{prefix}_REQUESTS_PER_MINUTE": "100000"}
    return load_chains("local", base | chain.settings | given)[chain.name]


def open_account_watcher(chain: AccountChain, *urls: str, owner: str = "one", **settings: str) -> AccountWatcher:
    """A watcher of the chain."""
    spec = spec_of(chain, *urls, **settings)
    adapter = spec.family.open_adapter(spec, open_pool(spec))
    return AccountWatcher(spec, adapter, owner=owner)  # type: ignore[arg-type]


def make_expected(chain: AccountChain, address: str) -> ReceivingWallet:
    """A merchant's wallet that somebody may be paying to."""
    wallet = make_wallet(make_merchant(), chain.name, address)
    wallet.expected_until = timezone.now() + timedelta(hours=1)
    wallet.save(update_fields=["expected_until"])
    return wallet


def read_all(watcher: AccountWatcher, *, now: datetime | None = None) -> None:
    """Do passes until one reads to the head."""
    for _ in range(10):
        if watcher.tick(now=now or timezone.now()) is PassOutcome.IDLE:
            return
    raise AssertionError("the watcher does not come to an end")
