"""What a watched wallet did before it was watched: read beside the watcher, once, to the seam, within its share of the budget."""

from contextlib import ExitStack

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from tests.wallets.books import Open
from tests.wallets.factories import read_all
from tests.wallets.watched.bench import SHOP, Bench, gives_at_most
from tests.wallets.watching import Beside, moved, watch
from wallets.models import EPOCH, ChainCursor, WatchedMovement, WatchedWallet
from wallets.states import TransferState, WatchStatus
from wallets.watched.history import Openings
from wallets.watched.selectors import history_progress
from wallets.watched.service import remove_watched_wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("never_rests")]


def test_history_is_read_in_both_directions_with_progress_and_comes_to_an_end(bench: Bench) -> None:
    sender = payer(bench.node).address
    first = bench.pay(SHOP, 11)
    bench.node.mine(300)
    second = bench.pay(SHOP, 22)
    bench.node.mine(6)
    read_all(bench.books.watcher)
    shop, other = watch(SHOP), watch(sender)
    assert moved(shop) == []

    bench.fault(gives_at_most(100))
    bench.open()
    seen: list[int | None] = [0]
    while seen[-1] is not None and len(seen) < 60:
        bench.beside.tick(after=60.0)
        shop.refresh_from_db()
        seen.append(history_progress(shop))
    assert seen == [*sorted(s for s in seen if s is not None), None]
    assert len({s for s in seen if s}) >= 3
    assert moved(shop) == [("in", 11, first), ("in", 22, second)]
    assert [one for one in moved(other) if one[2] in {first, second}] == [("out", 11, first), ("out", 22, second)]
    states = WatchedMovement.objects.filter(wallet=shop).values_list("state", flat=True)
    assert set(states) == {TransferState.CONFIRMED}
    assert shop.history_error == ""


def test_a_wallet_that_is_watched_again_has_all_that_moved_once(bench: Bench) -> None:
    first = bench.pay(SHOP, 5)
    read_all(bench.books.watcher)
    shop = watch(SHOP)
    bench.open()
    bench.import_all(shop)
    remove_watched_wallet(shop, now=timezone.now())
    unseen = bench.pay(SHOP, 7)
    read_all(bench.books.watcher)
    again = watch(SHOP, merchant=shop.merchant)
    bench.beside.tick(2, after=60.0)
    bench.open()
    bench.import_all(again)
    found = WatchedMovement.objects.filter(merchant=shop.merchant).order_by("units")
    told = found.values_list("units", "tx_hash")
    # Reports have those of wallets that were given up as well.
    assert list(told) == [(5, first), (7, unseen)]


def test_a_movement_at_the_seam_is_recorded_once(bench: Bench) -> None:
    bench.node.mine(10)
    read_all(bench.books.watcher)
    shop = watch(SHOP)
    bench.beside.tick(2)
    seam = bench.pay(SHOP, 5)
    read_all(bench.books.watcher)
    assert moved(shop) == [("in", 5, seam)]
    bench.import_all(shop)
    assert shop.history_until == ChainCursor.objects.get().height
    assert moved(shop) == [("in", 5, seam)]


@pytest.mark.parametrize("waits", [True, False], ids=["", "control"])
def test_what_a_pass_missed_that_was_under_way_when_the_wallet_was_added_is_in_its_history(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    read_all(bench.books.watcher)
    began = timezone.now()
    missed = bench.pay(SHOP, 7)
    shop = watch(SHOP)
    if not waits:
        monkeypatch.setattr(Openings, "_since", lambda *_: EPOCH)
    bench.beside.tick(3)
    # The pass that began before is written now: it did not ask for the wallet.
    WatchedWallet.objects.update(removed_at=began)
    read_all(bench.books.watcher, now=began)
    WatchedWallet.objects.update(removed_at=None)
    bench.beside.tick(3)
    bench.node.mine()
    read_all(bench.books.watcher)
    bench.import_all(shop)
    assert moved(shop) == ([("in", 7, missed)] if waits else [])


def test_no_more_is_asked_than_a_share_of_the_budget(base_node: Anvil, open_books: Open) -> None:
    books = open_books(base_node)
    bench = Bench(books, REQUESTS_PER_MINUTE="300")
    base_node.mine(400)
    read_all(books.watcher)
    shop = watch(SHOP)
    bench.open()
    asked: list[str] = []
    bench.fault(gives_at_most(2, asked))
    for _ in range(120):
        bench.beside.tick(after=1.0)
    bench.beside.close()
    shop.refresh_from_db()
    assert 0 < (history_progress(shop) or 0) < 100
    # Two minutes of sixty, and a step that may overdraw what there is.
    assert len(asked) <= 2 * 60 + 10 + 10


def test_a_process_that_does_not_read_the_chain_reads_no_history(bench: Bench) -> None:
    bench.pay(SHOP, 3)
    bench.node.mine(10)
    read_all(bench.books.watcher)
    shop = watch(SHOP)
    bench.open()
    with ExitStack() as stack:
        stranger = Beside(bench.spec, owner="two")
        stack.callback(stranger.close)
        stranger.tick(10, after=60.0)
    shop.refresh_from_db()
    assert (shop.status, moved(shop)) == (WatchStatus.IMPORTING, [])


def test_a_wallet_that_was_given_up_is_not_read_any_more(bench: Bench) -> None:
    bench.pay(SHOP, 3)
    bench.node.mine(10)
    read_all(bench.books.watcher)
    shop = watch(SHOP)
    bench.open()
    remove_watched_wallet(shop, now=timezone.now())
    bench.beside.tick(10, after=60.0)
    assert moved(shop) == []
