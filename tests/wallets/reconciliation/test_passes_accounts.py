"""A listing that leaves a payment out loses nothing where accounts are read one by one: the other node lists it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.utils import timezone

from tests.factories import make_merchant, make_wallet
from tests.wallets.accountchains import AccountChain, spec_of
from tests.wallets.chains.rpc.test_pool import Clock
from tests.wallets.contract.hostile import Answer, Fault, HttpProxy, honest
from wallets.chains.registry import open_pool
from wallets.models import AccountCursor, ChainCursor, ReceivingWallet, SourceDifference, Transfer
from wallets.reconciliation.confirmation import LargeAmounts
from wallets.reconciliation.passes import Reconciler
from wallets.watcher_process import open_watcher

pytestmark = pytest.mark.django_db
EVERY = 300.0
LARGE = 10_000_000_000


def leaving_out(name: str, is_left_out: Callable[[Any], bool]) -> Fault:
    """Leave rows out of the lists that answers have under a name; a whole and well-formed answer otherwise."""

    def fault(target: str, answer: Answer) -> Answer:
        told = orjson.loads(answer.body)
        for one in told if isinstance(told, list) else [told]:
            rows = one.get(name) if isinstance(one, dict) else None
            if isinstance(rows, list):
                one[name] = [row for row in rows if not (isinstance(row, dict) and is_left_out(row))]
        return Answer(orjson.dumps(told), status=answer.status)

    return fault


def unlisted(chain: AccountChain, tx_hash: str, units: int) -> Fault:
    """Leave a payment out of listings."""
    if chain.name == "solana":
        return leaving_out("result", lambda row: row.get("signature") == tx_hash)
    return leaving_out("jetton_transfers", lambda row: int(row.get("amount") or 0) == units)


class Books:
    """A chain behind two proxies, a wallet to pay, its watcher, and what looks again."""

    def __init__(self, chain: AccountChain, first: HttpProxy, second: HttpProxy) -> None:
        self.chain, self.first, self.second = chain, first, second
        self.clock = Clock()
        spec = spec_of(chain, first.url, second.url)
        self.watcher = open_watcher(spec, open_pool(spec), owner="one")
        self.reconciler = Reconciler(spec, owner="one", every=EVERY, clock=self.clock)
        self.large = LargeAmounts(spec, owner="one", clock=self.clock)
        self.to = chain.new_address()
        self.wallet = make_wallet(make_merchant(), chain.name, self.to)
        # A chain's clock need not be ours.
        past = datetime(2001, 1, 1, tzinfo=UTC)
        far = datetime(2100, 1, 1, tzinfo=UTC)
        ReceivingWallet.objects.update(created_at=past, expected_until=far)
        self.read()

    def read(self) -> None:
        for _ in range(3):
            self.watcher.tick(now=timezone.now())

    def pay(self, units: int, *, hidden: bool = False) -> str:
        """Pay, and let the watcher read it; a node whose listing lacks it does not tell."""
        tx_hash = self.chain.pay(self.to, units)
        if hidden:
            self.first.fault = unlisted(self.chain, tx_hash, units)
        self.chain.settle()
        self.read()
        return tx_hash

    def compare(self) -> None:
        """Do a whole pass."""
        self.read()
        self.clock.seconds += EVERY
        for _ in range(20):
            self.clock.seconds += 1
            self.reconciler.tick(now=timezone.now())
        self.read()

    def close(self) -> None:
        self.watcher.close()
        self.reconciler.close()
        self.large.close()


@pytest.fixture
def books(chain: AccountChain) -> Iterator[Books]:
    with HttpProxy(chain.url) as first, HttpProxy(chain.url) as second:
        opened = Books(chain, first, second)
        yield opened
        opened.close()


def recorded() -> dict[str, int]:
    rows = Transfer.objects.values_list("tx_hash", "units")
    assert len(rows) == len({tx_hash for tx_hash, _ in rows})
    return {tx_hash: int(units) for tx_hash, units in rows}


def test_where_both_tell_the_same_nothing_is_told(books: Books) -> None:
    paid = {books.pay(units): units for units in (21, 22)}
    books.compare()
    assert recorded() == paid
    assert not SourceDifference.objects.exists()
    assert ChainCursor.objects.get().reconciled_at is not None


def test_what_one_listing_leaves_out_the_other_tells(books: Books) -> None:
    paid = {books.pay(units): units for units in (21, 22)}
    hidden = books.pay(23, hidden=True)
    paid |= {books.pay(24): 24}
    assert recorded() == paid
    books.compare()
    assert recorded() == paid | {hidden: 23}
    assert Transfer.objects.get(tx_hash=hidden).state == "confirmed"
    missed = SourceDifference.objects.get(kind="missed")
    assert missed.tx_hash == hidden
    assert missed.source == books.second.url.removesuffix("/api/v3")


def test_what_the_other_listing_lacks_stays_and_is_told(books: Books) -> None:
    tx_hash = books.pay(21)
    books.second.fault = unlisted(books.chain, tx_hash, 21)
    books.compare()
    difference = SourceDifference.objects.get()
    assert (difference.kind, difference.tx_hash) == ("unknown", tx_hash)
    assert Transfer.objects.get().state == "confirmed"
    books.second.fault = honest
    books.compare()
    assert SourceDifference.objects.get().closed_at is not None


def test_a_large_amount_waits_for_two_nodes(books: Books) -> None:
    books.pay(LARGE)
    assert Transfer.objects.get().state == "detected"
    books.second.fault = lambda target, answer: Answer(b"", status=503)
    books.clock.seconds += 10
    assert books.large.tick(now=timezone.now()) == 0
    books.second.fault = honest
    books.clock.seconds += 100
    assert books.large.tick(now=timezone.now()) == 1
    found = Transfer.objects.get()
    assert found.state == "confirmed"
    assert found.witnessed_at is not None


def test_only_the_accounts_that_are_read_are_compared(books: Books) -> None:
    AccountCursor.objects.update(height=None)
    before = books.second.requests
    books.clock.seconds += EVERY
    for _ in range(4):
        books.clock.seconds += 1
        books.reconciler.tick(now=timezone.now())
    # Which chain it serves is asked, and nothing else.
    assert books.second.requests - before <= 2


def test_an_account_that_waited_for_its_turn_is_compared_from_the_last_one_on(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.compare()
    monkeypatch.setattr("wallets.reconciliation.comparison.SPAN", timedelta(0))
    hidden = books.pay(23, hidden=True)
    assert hidden not in recorded()
    books.compare()
    assert recorded() == {hidden: 23}


def test_nothing_older_than_the_span_is_compared_in_the_first_turn(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wallets.reconciliation.comparison.SPAN", timedelta(0))
    books.pay(23, hidden=True)
    books.compare()
    assert recorded() == {}
