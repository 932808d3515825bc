"""Histories and balances of watched wallets on the chains that are read account by account: real Solana and TON programs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest
from django.utils import timezone

from tests.wallets.accountchains import AccountChain, OnSolana, spec_of
from tests.wallets.accountchains import read_all as read_accounts
from tests.wallets.chains.rpc.test_pool import Clock
from tests.wallets.watching import Beside, moved, watch
from wallets.chains.base import AccountAdapter
from wallets.chains.registry import open_pool
from wallets.models import AccountCursor, WatchedBalance, WatchedWallet
from wallets.states import WatchStatus
from wallets.watchers.accounts import AccountWatcher

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("never_rests")]


class Bench:
    """A chain, its watcher, and the pass beside it."""

    def __init__(self, chain: AccountChain) -> None:
        self.chain = chain
        spec = spec_of(chain)
        adapter = cast("AccountAdapter", spec.family.open_adapter(spec, open_pool(spec)))
        self.clock = Clock()
        self.watcher = AccountWatcher(spec, adapter, owner="one", clock=self.clock)
        self.beside = Beside(spec)

    def open(self) -> None:
        """Let the pass see new wallets, and the watcher read after that."""
        self.beside.tick(2)
        self.read()

    def read(self) -> None:
        """Have the watcher read to the head, long enough after the last time that it looks for new wallets."""
        self.clock.seconds += 60
        read_accounts(self.watcher)

    def import_all(self, wallet: WatchedWallet) -> None:
        """Do steps until the wallet's history is whole."""
        for _ in range(30):
            wallet.refresh_from_db()
            if wallet.status == WatchStatus.ACTIVE:
                return
            self.beside.tick(after=60.0)
        raise AssertionError("the import does not come to an end")

    def restart(self) -> None:
        """As a new process would begin."""
        self.beside.close()
        self.beside = Beside(spec_of(self.chain))


@pytest.fixture
def bench(chain: AccountChain, settings: Any) -> Iterator[Bench]:
    made = Bench(chain)
    # The watcher's own settings name the token that the local chain has.
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | made.chain.settings
    made.read()
    yield made
    made.beside.close()
    made.watcher.close()


def test_what_was_before_and_at_the_seam_is_recorded_once_and_the_balance_is_the_chains(bench: Bench) -> None:
    chain = bench.chain
    till = chain.new_address()
    before = [chain.pay(till, units) for units in (11, 22)]
    chain.pass_time()
    wallet = watch(till, chain=chain.name)
    bench.beside.tick(2)
    seam = chain.pay(till, 33)
    bench.read()
    assert AccountCursor.objects.filter(key=wallet.key).exists()
    bench.import_all(wallet)
    expected = list(zip(("in",) * 3, (11, 22, 33), [*before, seam], strict=True))
    assert moved(wallet) == expected
    assert wallet.history_error == ""
    held = WatchedBalance.objects.get(wallet=wallet)
    assert int(held.units) == chain.node.balance(till) == 66  # type: ignore[attr-defined]

    after = chain.pay(till, 44)
    chain.pass_time()
    bench.read()
    bench.beside.tick(2)
    held.refresh_from_db()
    assert moved(wallet) == [*expected, ("in", 44, after)]
    assert int(held.units) == 110


def test_a_restart_goes_on_from_what_is_known(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = bench.chain
    wallets = []
    for _ in range(2):
        till = chain.new_address()
        chain.pay(till, 5)
        wallets.append(watch(till, chain=chain.name))
    chain.pass_time()
    bench.open()
    # One at a time: after the first the process ends.
    monkeypatch.setattr(bench.beside.watched._history, "_at_once", 1)
    for _ in range(10):
        bench.beside.tick(after=60.0)
        if WatchedWallet.objects.filter(status=WatchStatus.ACTIVE).exists():
            break
    bench.restart()
    for wallet in wallets:
        bench.import_all(wallet)
    assert [[units for _, units, _ in moved(one)] for one in wallets] == [[5], [5]]


def test_a_local_chain_that_begins_anew_has_its_history_read_again(solana_node: "SolanaNode") -> None:
    bench = Bench(OnSolana(solana_node))
    till = bench.chain.new_address()
    bench.read()
    wallet = watch(till, chain="solana")
    bench.chain.pass_time()
    bench.open()
    bench.beside.tick()
    bench.import_all(wallet)
    before = wallet.history_until or 0
    WatchedWallet.objects.update(status=WatchStatus.IMPORTING)
    bench.chain.begin_anew()
    for _ in range(2):
        # The first pass finds out, and the second reads the new chain.
        bench.clock.seconds += 60
        bench.watcher.tick(now=timezone.now())
    bench.import_all(wallet)
    assert (wallet.history_until or 0) <= solana_node.slot() < before
    bench.beside.close()
    bench.watcher.close()
