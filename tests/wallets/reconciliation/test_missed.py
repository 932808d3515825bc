"""A payment that no watcher saw, and that its payer names, is read again: by the process that reads the chain."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from tests.factories import make_merchant, make_wallet
from tests.nodes.proxy import garbage, honest
from tests.wallets.accountchains import AccountChain, make_expected, open_account_watcher, spec_of
from tests.wallets.accountchains import read_all as read_accounts
from tests.wallets.books import USDC, Books, Open
from tests.wallets.chains.rpc.test_pool import Clock
from tests.wallets.factories import address_of, local_spec, make_deposit, make_difference, read_all
from tests.wallets.paying import transfer
from tests.wallets.watching import watch
from wallets.chains.base import ChainError, FoundTransaction
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.models import (
    AccountCursor,
    Block,
    ChainCursor,
    ReceivingWallet,
    SourceDifference,
    Transfer,
    WatchedMovement,
)
from wallets.reconciliation import missed
from wallets.reconciliation.missed import MOST_AN_HOUR, NAMED, OLDEST, READ_AGAIN, MissedTransfers, ask_again
from wallets.watchers.leases import LeaseLostError

pytestmark = pytest.mark.django_db


def find(spec: ChainSpec, tx_hash: str) -> FoundTransaction:
    """What the chain tells of a transaction."""
    adapter = spec.family.open_adapter(spec, open_pool(spec))
    found = adapter.find(tx_hash)
    adapter.close()
    assert found is not None
    return found


def name(books: Books, tx_hash: str, *, now: datetime | None = None) -> bool:
    """Somebody names a transaction; whether it is to be read again."""
    spec = local_spec(books.node.url)
    return ask_again(find(spec, tx_hash), now=now or timezone.now())


@contextmanager
def reader(spec: ChainSpec, *, owner: str = "one", clock: Clock | None = None) -> Iterator[MissedTransfers]:
    """Who reads again, beside the watcher."""
    made = MissedTransfers(spec, owner=owner, clock=clock or Clock())
    yield made
    made.close()


def pay_unseen(books: Books, to: str | None = None) -> str:
    """Pay 25 units that are final; nothing of it is recorded, although its block was read."""
    tx_hash = books.pay(to)
    Transfer.objects.all().delete()
    return tx_hash


def notes() -> list[tuple[str, str]]:
    """What was noted: transaction, source."""
    rows = SourceDifference.objects.order_by("pk")
    return list(rows.values_list("tx_hash", "source"))


def test_what_was_missed_is_recorded_under_the_lease_of_who_reads_the_chain(books: Books) -> None:
    tx_hash = pay_unseen(books)
    assert name(books, tx_hash)
    # Whoever names it only leaves a note.
    assert not Transfer.objects.exists()
    assert notes() == [(tx_hash, NAMED)]
    with reader(local_spec(books.first.url)) as again:
        assert again.tick(now=timezone.now()) == 1
    found = Transfer.objects.get()
    assert (found.tx_hash, found.units, found.position) == (tx_hash, 25, 0)
    assert found.queued_at is not None
    assert notes() == [(tx_hash, READ_AGAIN)]
    assert SourceDifference.objects.get().closed_at is None
    read_all(books.watcher)
    found.refresh_from_db()
    assert found.state == "confirmed"


def test_it_is_recorded_exactly_as_the_watcher_would_have(books: Books) -> None:
    tx_hash = books.pay()
    row = Transfer.objects.filter(tx_hash=tx_hash).values().get()
    Transfer.objects.all().delete()
    assert name(books, tx_hash)
    with reader(local_spec(books.first.url)) as again:
        again.tick(now=timezone.now())
    own = {"id", "public_id", "detected_at", "queued_at", "state", "confirmed_at"}
    same = Transfer.objects.values().get()
    assert {k: v for k, v in same.items() if k not in own} == {k: v for k, v in row.items() if k not in own}


def test_reports_have_its_money_once_though_a_watched_wallets_history_had_it_before(books: Books) -> None:
    deposit = make_deposit()
    wallet = watch(address_of(deposit), merchant=deposit.merchant)
    tx_hash = pay_unseen(books, address_of(deposit))
    # As a history has it that was read while no payment was recorded.
    WatchedMovement.objects.update(is_payment=False)
    assert name(books, tx_hash)
    with reader(local_spec(books.first.url)) as again:
        assert again.tick(now=timezone.now()) == 1
    assert WatchedMovement.objects.get(wallet=wallet).is_payment


def test_a_transaction_is_asked_for_once_whatever_comes_of_it(books: Books) -> None:
    tx_hash = pay_unseen(books)
    assert name(books, tx_hash)
    assert not name(books, tx_hash)
    with reader(local_spec(books.first.url)) as again:
        again.tick(now=timezone.now())
    Transfer.objects.all().delete()
    assert not name(books, tx_hash)
    assert len(notes()) == 1


def test_what_is_recorded_needs_no_second_reading(books: Books) -> None:
    tx_hash = books.pay()
    assert not name(books, tx_hash)
    # Nor does what a fork took and the watcher follows.
    Transfer.objects.update(state="orphaned")
    assert not name(books, tx_hash)
    assert notes() == []


def test_what_pays_nobody_of_us_is_not_asked_for(books: Books) -> None:
    strangers = "0x00000000000000000000000000000000000a11ce"
    assert not name(books, pay_unseen(books, strangers))
    assert notes() == []


def test_what_is_too_old_is_left_to_an_operator(books: Books) -> None:
    tx_hash = pay_unseen(books)
    later = timezone.now() + OLDEST + timedelta(hours=1)
    assert not name(books, tx_hash, now=later)
    assert name(books, tx_hash)


def test_what_is_not_final_or_not_read_yet_is_still_the_watchers(books: Books) -> None:
    to = address_of(make_deposit())
    read_all(books.watcher)
    tx_hash = transfer(books.node, payer(books.node), USDC, to, 25)
    assert not name(books, tx_hash)
    books.node.mine(6)
    assert not name(books, tx_hash)
    Transfer.objects.all().delete()
    read_all(books.watcher)
    assert Transfer.objects.get().tx_hash == tx_hash


def test_what_lies_before_where_we_began_was_never_ours_to_see(books: Books) -> None:
    tx_hash = pay_unseen(books)
    ChainCursor.objects.update(first_height=F("height"))
    assert not name(books, tx_hash)


def test_a_halted_chain_waits_for_a_person(books: Books) -> None:
    tx_hash = pay_unseen(books)
    ChainCursor.objects.update(halted_reason="a deep reorganisation")
    assert not name(books, tx_hash)


def test_what_reached_a_merchants_wallet_before_we_were_told_of_it_is_not_ours(
    ethereum_node: Anvil, open_books: Open
) -> None:
    books = open_books(ethereum_node, chain="ethereum")
    mine = "0x000000000000000000000000000000000000b0b0"
    tx_hash = pay_unseen(books, mine)
    wallet = make_wallet(make_merchant(), "ethereum", mine)
    spec = local_spec(books.node.url, chain="ethereum")
    ReceivingWallet.objects.update(created_at=timezone.now() + timedelta(hours=1))
    assert not ask_again(find(spec, tx_hash), now=timezone.now())
    ReceivingWallet.objects.filter(pk=wallet.pk).update(created_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert ask_again(find(spec, tx_hash), now=timezone.now())


@pytest.mark.parametrize("moves", [False, True])
def test_what_reached_a_wallet_before_it_was_set_again_is_of_the_one_whose_wallet_it_was(
    ethereum_node: Anvil, open_books: Open, moves: bool
) -> None:
    books = open_books(ethereum_node, chain="ethereum")
    mine = "0x000000000000000000000000000000000000b0b0"
    long_ago, later = datetime(2020, 1, 1, tzinfo=UTC), timezone.now() + timedelta(hours=1)
    merchant = make_merchant()
    first = make_wallet(merchant, "ethereum", mine)
    ReceivingWallet.objects.filter(pk=first.pk).update(created_at=long_ago, retired_at=later)
    tx_hash = pay_unseen(books, mine)
    again = make_wallet(make_merchant() if moves else merchant, "ethereum", mine)
    ReceivingWallet.objects.filter(pk=again.pk).update(created_at=later)
    assert ask_again(find(local_spec(books.node.url, chain="ethereum"), tx_hash), now=timezone.now())
    with reader(local_spec(books.first.url, chain="ethereum")) as reading:
        assert reading.tick(now=timezone.now()) == 1
    found = Transfer.objects.get()
    assert (found.merchant_id, found.wallet_id) == (merchant.pk, first.pk)


def test_nobody_can_have_more_read_again_than_an_hour_allows(books: Books) -> None:
    tx_hash = pay_unseen(books)
    now = timezone.now()
    for position in range(MOST_AN_HOUR):
        make_difference(position=position)
    SourceDifference.objects.update(source=READ_AGAIN, found_at=now)
    assert not name(books, tx_hash, now=now)
    assert name(books, tx_hash, now=now + timedelta(hours=1, seconds=1))


def test_only_who_reads_the_chain_reads_again(books: Books) -> None:
    tx_hash = pay_unseen(books)
    name(books, tx_hash)
    before = books.first.requests
    with reader(local_spec(books.first.url), owner="another") as again:
        assert again.tick(now=timezone.now()) == 0
    assert books.first.requests == before
    assert notes() == [(tx_hash, NAMED)]


def test_a_lease_that_was_lost_meanwhile_writes_nothing(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    name(books, pay_unseen(books))
    with reader(local_spec(books.first.url)) as again:
        monkeypatch.setattr(missed, "check_identity", lose_the_lease)
        with pytest.raises(LeaseLostError):
            again.tick(now=timezone.now())
    assert not Transfer.objects.exists()
    assert notes()[0][1] == NAMED


def lose_the_lease(*_: object) -> None:
    """Another watcher takes the chain while a node is asked."""
    ChainCursor.objects.update(owner="another")


def test_what_no_node_of_ours_knows_was_a_mistake_and_is_closed(books: Books) -> None:
    tx_hash = pay_unseen(books)
    name(books, tx_hash)
    books.node.reorg(8)
    with reader(local_spec(books.first.url)) as again:
        assert again.tick(now=timezone.now()) == 0
    assert not Transfer.objects.exists()
    assert SourceDifference.objects.get().closed_at is not None


def test_a_block_that_is_not_the_one_we_read_is_not_believed(books: Books) -> None:
    tx_hash = pay_unseen(books)
    name(books, tx_hash)
    Block.objects.update(hash="0x" + "0" * 64)
    with reader(local_spec(books.first.url)) as again:
        assert again.tick(now=timezone.now()) == 0
    assert not Transfer.objects.exists()


def test_a_node_that_fails_is_asked_again_after_a_rest(books: Books) -> None:
    name(books, pay_unseen(books))
    clock = Clock()
    books.first.fault = garbage()
    with reader(local_spec(books.first.url), clock=clock) as again:
        with pytest.raises(ChainError):
            again.tick(now=timezone.now())
        books.first.fault = honest
        assert again.tick(now=timezone.now()) == 0
        clock.seconds += 61
        assert again.tick(now=timezone.now()) == 1


def test_who_has_nothing_to_read_again_asks_no_node(books: Books) -> None:
    books.pay()
    before = books.first.requests
    with reader(local_spec(books.first.url)) as again:
        assert again.tick(now=timezone.now()) == 0
    assert books.first.requests == before


def test_a_note_that_could_not_be_read_for_a_day_is_left_to_the_operator(books: Books) -> None:
    name(books, pay_unseen(books))
    with reader(local_spec(books.first.url)) as again:
        assert again.tick(now=timezone.now() + timedelta(days=1, hours=1)) == 0
    assert SourceDifference.objects.get().closed_at is None


def test_where_accounts_are_read_it_is_the_same(chain: AccountChain) -> None:
    address = chain.new_address()
    make_expected(chain, address)
    ReceivingWallet.objects.update(created_at=F("created_at") - timedelta(minutes=1))
    watcher = open_account_watcher(chain)
    read_accounts(watcher)
    tx_hash = chain.pay(address, 25)
    chain.pass_time()
    read_accounts(watcher)
    row = Transfer.objects.values().get()
    spec = spec_of(chain)
    assert not ask_again(find(spec, tx_hash), now=timezone.now())
    Transfer.objects.all().delete()
    # An account that is not read so far yet is still the watcher's.
    height = row["block_height"]
    read_to = AccountCursor.objects.values_list("height", flat=True).get()
    AccountCursor.objects.update(height=height - 1)
    assert not ask_again(find(spec, tx_hash), now=timezone.now())
    AccountCursor.objects.update(height=read_to)
    assert ask_again(find(spec, tx_hash), now=timezone.now())
    with reader(spec) as again:
        assert again.tick(now=timezone.now()) == 1
    own = {"id", "public_id", "detected_at", "queued_at", "state", "confirmed_at"}
    same = Transfer.objects.values().get()
    assert {k: v for k, v in same.items() if k not in own} == {k: v for k, v in row.items() if k not in own}
    watcher.close()
