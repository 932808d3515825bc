"""Watched wallets for tests: added, and the pass beside their chain's watcher run by hand."""

from typing import Any

from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from tests.factories import make_merchant
from tests.wallets.chains.rpc.test_pool import Clock
from wallets.chains.family import ChainSpec
from wallets.models import WatchedMovement, WatchedWallet
from wallets.watched.passes import WatchedWallets
from wallets.watched.service import watch_wallet
from wallets.watchers.leases import take_lease

LOOK_SECONDS = 5.0


def watch(address: str, *, chain: str = "base", merchant: Merchant | None = None) -> WatchedWallet:
    """Have an address watched with real money, by a merchant of its own unless one is named."""
    wallet, _ = watch_wallet(
        merchant or make_merchant(), mode=Mode.LIVE, chain=chain, address=address, now=timezone.now()
    )
    return wallet


class Beside:
    """The pass over watched wallets, in the name of the watcher `one`, with a clock of its own."""

    def __init__(self, spec: ChainSpec, *, owner: str = "one") -> None:
        self.chain, self.owner = spec.name, owner
        self.clock = Clock()
        self.watched = WatchedWallets(spec, owner=owner, clock=self.clock)

    def tick(self, times: int = 1, *, after: float = LOOK_SECONDS) -> None:
        """Do steps, each so many seconds after the one before."""
        for _ in range(times):
            # As the watcher does all the time; a slow machine must not take the lease away in the middle of a test.
            take_lease(self.chain, self.owner, seconds=60)
            self.clock.seconds += after
            self.watched.tick(now=timezone.now())

    def close(self) -> None:
        """Close the connections."""
        self.watched.close()


def moved(wallet: WatchedWallet) -> list[tuple[Any, ...]]:
    """What is recorded of a wallet, in the order of its blocks: direction, units, transaction."""
    rows = WatchedMovement.objects.filter(wallet=wallet).order_by("block_height", "pk")
    return [(one.direction, int(one.units), one.tx_hash) for one in rows]
