import secrets, time
from tests.wallets.test_watched_balances import *
from tests.wallets.test_watched_history import *
from wallets.models import *
from django.utils import timezone
from tests.factories import make_merchant
from wallets.addresses import canonical_address
from wallets.forwarder import checksum
def test_x(bench):
    from django.conf import settings
    settings.WALLET_HISTORY_DAYS = 30
    bench.node.mine(200)
    read_all(bench.books.watcher)
    m = make_merchant()
    keys = [secrets.token_bytes(20) for _ in range(10_000)]
    WatchedWallet.objects.bulk_create([WatchedWallet(merchant=m, mode="live", chain="base", address=checksum(k), key=k) for k in keys])
    def tick():
        t = time.time(); bench.beside.clock.seconds += 60
        bench.beside.watched.tick(now=timezone.now()); return round(time.time()-t, 3)
    print([tick() for _ in range(3)])
    bench.node.mine(); read_all(bench.books.watcher)
    print([tick() for _ in range(20)])
    print([tick() for _ in range(60)])
    print(WatchedWallet.objects.filter(status="active").count(), WatchedBalance.objects.count())
    w = bench.beside.watched
    for f in (lambda: w._openings.tick(now=timezone.now()), w._history.next_group, lambda: w._balances.due(now=timezone.now())):
        t = time.time(); f(); print(round(time.time()-t, 4))
    assert 0
