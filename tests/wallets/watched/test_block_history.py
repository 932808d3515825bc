"""What a watched wallet did before it was watched is read beside the watcher, once, and never in its way."""

import pytest
from django.utils import timezone

from demo.localnet.funding import payer
from tests.wallets.factories import read_all
from tests.wallets.watched.bench import SHOP, Bench, gives_at_most
from tests.wallets.watching import moved, watch
from wallets.models import WatchedMovement
from wallets.states import TransferState
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
