"""The account watcher on Solana's and TON's own machines: payments, forks, and both directions of watched wallets."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from django.utils import timezone
from solders.keypair import Keypair

from accounts.states import Mode
from localnet.solana.node import Payment
from tests.factories import make_merchant
from tests.wallets.accountchains import (
    AccountChain,
    OnSolana,
    OnTon,
    make_expected,
    open_account_watcher,
    read_all,
    spec_of,
)
from tests.wallets.accounts import cursor_of
from wallets.chains.registry import open_pool
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.models import EPOCH, AccountCursor, ReceivingWallet, Transfer, WatchedMovement, WatchedWallet
from wallets.reconciliation.rescan import rescan_accounts
from wallets.states import TransferState
from wallets.watched.service import watch_wallet
from wallets.watchers.accounts import AccountWatcher

pytestmark = pytest.mark.django_db
DETECTED, CONFIRMED, ORPHANED = TransferState

OpenWatcher = Callable[..., AccountWatcher]
Spend = Callable[[str, int], None]


@pytest.fixture
def watcher(chain: AccountChain) -> Iterator[AccountWatcher]:
    watcher = open_account_watcher(chain)
    # A local chain that was never read is read from its beginning.
    watcher.tick(now=timezone.now())
    yield watcher
    watcher.close()


@pytest.fixture
def open_watcher() -> Iterator[OpenWatcher]:
    """Opens watchers, which are closed after the test."""
    with ExitStack() as stack:
        yield lambda chain, **options: stack.enter_context(closing(open_account_watcher(chain, **options)))


def test_a_payment_is_seen_in_the_next_pass_and_confirmed(chain: AccountChain, open_watcher: OpenWatcher) -> None:
    watcher, to = open_watcher(chain), chain.new_address()
    wallet = make_expected(chain, to)
    read_all(watcher)
    tx_hash = chain.pay(to, 25_000_000)
    read_all(watcher)
    assert Transfer.objects.count() == 1
    chain.pass_time()
    read_all(watcher)
    found = Transfer.objects.get()
    assert (found.tx_hash, found.units, found.recipient) == (tx_hash, 25_000_000, to)
    assert (found.wallet_id, found.merchant_id) == (wallet.pk, wallet.merchant_id)
    assert (found.chain, found.state, found.mode) == (chain.name, CONFIRMED, "live")


def test_what_is_paid_while_no_watcher_runs_is_found_by_the_next(
    chain: AccountChain, open_watcher: OpenWatcher
) -> None:
    first, to = open_watcher(chain), chain.new_address()
    make_expected(chain, to)
    read_all(first)
    first.stop()
    hashes = {chain.pay(to, units) for units in range(1, 8)}
    read_all(open_watcher(chain, owner="two"))
    assert set(Transfer.objects.values_list("tx_hash", flat=True)) == hashes


def test_an_account_that_is_told_in_parts_is_read_again_to_the_end(solana_node: Any, open_watcher: OpenWatcher) -> None:
    chain = OnSolana(solana_node)
    to, spec = chain.new_address(), spec_of(chain)
    make_expected(chain, to)
    ReceivingWallet.objects.update(created_at=EPOCH)
    watcher = open_watcher(chain)
    for units in range(1, 8):
        chain.pay(to, units)
    read_all(watcher)
    Transfer.objects.all().delete()
    solana_node.finalize()
    adapter = SolanaAdapter(spec, open_pool(spec), most=2)
    told = rescan_accounts(
        spec, adapter, first=0, last=None, now=timezone.now(), say=lambda text: None, pace=lambda: None
    )
    adapter.close()
    assert (told.seen, len(told.new), Transfer.objects.count()) == (7, 7, 7)


def test_a_transaction_that_a_fork_took_is_orphaned(chain: AccountChain, open_watcher: OpenWatcher) -> None:
    watcher, to = open_watcher(chain), chain.new_address()
    wallet = make_expected(chain, to)
    read_all(watcher)
    chain.pay(to, 25)
    read_all(watcher)
    assert Transfer.objects.get().state in {DETECTED, CONFIRMED}
    chain.fork()
    read_all(watcher)
    assert Transfer.objects.get().state == ORPHANED
    chain.pay(to, 26)
    read_all(watcher)
    assert Transfer.objects.get(units=26).state in {DETECTED, CONFIRMED}
    assert cursor_of(wallet).read_through_at is not None


def spender(chain: AccountChain, units: int) -> tuple[str, Spend]:
    """The address of somebody who has so much, and what they spend it by."""
    if isinstance(chain, OnSolana):
        node, payer = chain.node, Keypair()
        node.airdrop(str(payer.pubkey()))
        node.fund(str(payer.pubkey()), units)
        # Not to be read again as what came lately.
        chain.pass_time()

        def spend(to: str, units: int) -> None:
            chain.before = node.slot()
            node.pay_all([Payment(to, units)], payer=payer)
            node.advance(2)

        return str(payer.pubkey()), spend
    assert isinstance(chain, OnTon)
    wallet, ton = chain.node.create_wallet(units=units), chain.node

    def spend_jettons(to: str, units: int) -> None:
        chain.before = ton.head()
        ton.pay(to, units, payer=wallet)

    return str(wallet.address), spend_jettons


def watch(chain: AccountChain, address: str) -> WatchedWallet:
    wallet, _ = watch_wallet(make_merchant(), mode=Mode.LIVE, chain=chain.name, address=address, now=timezone.now())
    return wallet


def read(watcher: AccountWatcher) -> None:
    """Read everything now, whoever's turn it is."""
    AccountCursor.objects.update(read_at=None)
    watcher._identified_fence = None
    watcher._watched_due = 0.0
    watcher.tick(now=timezone.now())


def moved(wallet: WatchedWallet) -> list[tuple[str, int, str, str]]:
    rows = wallet.movements.order_by("block_height", "pk")
    return [(one.direction, int(one.units), one.counterparty, one.state) for one in rows]


def test_both_sides_of_a_transfer_are_recorded_in_the_same_words(chain: AccountChain, watcher: AccountWatcher) -> None:
    (address, spend), other = spender(chain, 100), chain.new_address()
    wallet, theirs = watch(chain, address), watch(chain, other)
    read(watcher)
    spend(other, 60)
    chain.pay(address, 5)
    for _ in range(2):
        read(watcher)
        chain.pass_time()
    read(watcher)
    [out, into] = moved(wallet)
    assert out == ("out", 60, other, CONFIRMED)
    assert (into[0], into[1], into[3]) == ("in", 5, CONFIRMED)
    assert moved(theirs) == [("in", 60, address, CONFIRMED)]
    rows = WatchedMovement.objects.filter(units=60)
    assert len(set(rows.values_list("tx_hash", "position", "block_height"))) == 1
    assert not Transfer.objects.exists()


def test_a_payment_out_of_a_watched_wallet_is_both_facts(chain: AccountChain, watcher: AccountWatcher) -> None:
    (address, spend), shop = spender(chain, 100), chain.new_address()
    wallet = watch(chain, address)
    own = make_expected(chain, shop)
    read(watcher)
    spend(shop, 60)
    read(watcher)
    [paid] = Transfer.objects.all()
    [out] = wallet.movements.all()
    assert (paid.wallet_id, paid.units) == (own.pk, 60)
    assert (out.tx_hash, out.position) == (paid.tx_hash, paid.position)
    assert (out.counterparty, out.is_payment) == (shop, False)


def test_what_a_fork_took_on_either_side_is_orphaned(chain: AccountChain, watcher: AccountWatcher) -> None:
    (address, spend), other = spender(chain, 100), chain.new_address()
    wallet, theirs = watch(chain, address), watch(chain, other)
    read(watcher)
    spend(other, 60)
    read(watcher)
    chain.fork()
    read(watcher)
    assert [one[3] for one in moved(wallet) + moved(theirs)] == [ORPHANED] * 2
    spend(other, 7)
    read(watcher)
    assert [one[1] for one in moved(theirs) if one[3] != ORPHANED] == [7]
