"""The pass over a chain's watched wallets."""

from contextlib import ExitStack

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from tests.wallets.books import Open
from tests.wallets.factories import read_all
from tests.wallets.watched.bench import SHOP, Bench, gives_at_most
from tests.wallets.watching import Beside, moved, watch
from wallets.states import WatchStatus
from wallets.watched.selectors import history_progress
from wallets.watched.service import remove_watched_wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("never_rests")]


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
