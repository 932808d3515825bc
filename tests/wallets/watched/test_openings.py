"""Where the history of a newly watched wallet ends."""

import pytest
from django.utils import timezone

from tests.wallets.factories import read_all
from tests.wallets.watched.bench import SHOP, Bench
from tests.wallets.watching import moved, watch
from wallets.models import EPOCH, ChainCursor, WatchedWallet
from wallets.watched.openings import Openings

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("never_rests")]


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
