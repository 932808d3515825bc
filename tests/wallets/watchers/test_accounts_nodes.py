"""The account watcher on real chains: Solana's virtual machine and TON's, each behind its own node's interface."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.utils import timezone

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
from wallets.chains.adapters import open_pool
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.models import EPOCH, ChainCursor, ReceivingWallet, Transfer
from wallets.reconciliation.rescan import rescan_accounts
from wallets.states import TransferState
from wallets.watchers import account_ingest as accountingest
from wallets.watchers.accounts import AccountWatcher

pytestmark = pytest.mark.django_db
DETECTED, CONFIRMED, ORPHANED = TransferState


class OpenWatcher:
    """Opens watchers and closes them after the test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, chain: AccountChain, *urls: str, **options: Any) -> AccountWatcher:
        watcher = open_account_watcher(chain, *urls, **options)
        self._stack.callback(watcher.close)
        return watcher


@pytest.fixture(params=["solana", "ton"])
def chain(request: pytest.FixtureRequest) -> AccountChain:
    node = request.getfixturevalue(f"{request.param}_node")
    return OnSolana(node) if request.param == "solana" else OnTon(node)


@pytest.fixture
def open_watcher() -> Iterator[OpenWatcher]:
    with ExitStack() as stack:
        yield OpenWatcher(stack)


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


def test_what_was_paid_before_a_wallet_was_known_is_not_ours(chain: AccountChain, open_watcher: OpenWatcher) -> None:
    watcher, to, other = open_watcher(chain), chain.new_address(), chain.new_address()
    make_expected(chain, other)
    read_all(watcher)
    chain.pay(to, 24)
    chain.pass_time()
    read_all(watcher)
    make_expected(chain, to)
    read_all(watcher)
    chain.pay(to, 25)
    read_all(watcher)
    assert [int(one.units) for one in Transfer.objects.filter(recipient=to)] == [25]


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


def test_a_watcher_that_dies_between_reading_and_writing_loses_nothing(
    chain: AccountChain, open_watcher: OpenWatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher, to = open_watcher(chain), chain.new_address()
    make_expected(chain, to)
    read_all(watcher)
    chain.pay(to, 25)

    def dies(*args: Any, **options: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(accountingest, "write_pulse", dies)
        with pytest.raises(SystemExit):
            watcher.tick(now=timezone.now())
    assert not Transfer.objects.exists()
    ChainCursor.objects.update(lease_until=EPOCH)
    read_all(open_watcher(chain, owner="two"))
    assert Transfer.objects.get().units == 25


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


def test_a_local_chain_that_was_replaced_is_read_anew(chain: AccountChain, open_watcher: OpenWatcher) -> None:
    watcher, to = open_watcher(chain), chain.new_address()
    make_expected(chain, to)
    chain.pay(to, 25)
    read_all(watcher)
    chain.begin_anew()
    watcher = open_watcher(chain)
    chain.pay(to, 26)
    read_all(watcher)
    units = Transfer.objects.order_by("pk").values_list("units", flat=True)
    assert list(units) == [25, 26]
