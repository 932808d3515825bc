"""Wallets that are watched on chains that are read account by account: what enters and what leaves them, and at what cost."""

import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from solders.pubkey import Pubkey

from accounts.states import Mode
from tests.factories import make_merchant
from tests.wallets.accounts import NOW, Watched, make_account, make_accounts, solana_spec
from tests.wallets.ledger import Ledger, no_answer
from wallets.chains.base import Account
from wallets.models import AccountCursor, ChainCursor, Transfer, WatchedMovement, WatchedWallet
from wallets.states import TransferState
from wallets.watched.history import AccountHistory
from wallets.watched.service import remove_watched_wallet
from wallets.watchers.demand import due_accounts

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=30)
DETECTED, CONFIRMED, ORPHANED = TransferState


def make_watched(count: int = 1, **values: Any) -> list[WatchedWallet]:
    """Wallets on Solana that a merchant has watched."""
    merchant = make_merchant()
    keys = [secrets.token_bytes(32) for _ in range(count)]
    wallets = [
        WatchedWallet(
            **(
                {"merchant": merchant, "mode": Mode.LIVE, "chain": "solana", "address": str(Pubkey(key)), "key": key}
                | values
            )
        )
        for key in keys
    ]
    return WatchedWallet.objects.bulk_create(wallets, batch_size=2_000)


def breaks_on(key: bytes) -> Callable[[Account], None]:
    """Trouble with one account alone."""

    def trouble(account: Account) -> None:
        if account.key == key:
            raise no_answer()

    return trouble


def moved(wallet: WatchedWallet) -> list[tuple[str, int, str, bool]]:
    """What is recorded of a wallet: which way, how much, who the other side is, and whether it is a payment."""
    rows = WatchedMovement.objects.filter(wallet=wallet).order_by("block_height")
    fields = ("direction", "units", "counterparty", "is_payment")
    return list(rows.values_list(*fields))


def states() -> list[str]:
    rows = WatchedMovement.objects.order_by("pk")
    return list(rows.values_list("state", flat=True))


def test_what_enters_and_leaves_a_watched_wallet_is_recorded_once_and_is_no_payment() -> None:
    watched, [wallet, other] = Watched(), make_watched(2)
    watched.tick()
    watched.pay(wallet, 30)
    watched.pay(other, 20, by=wallet)
    for _ in range(3):
        watched.tick(after=61)
    assert moved(wallet) == [("in", 30, "payer", False), ("out", 20, other.address, False)]
    assert moved(other) == [("in", 20, wallet.address, False)]
    assert states() == [CONFIRMED] * 3
    assert not Transfer.objects.exists()


def test_a_payment_to_a_receiving_wallet_that_is_watched_too_is_told_to_be_one() -> None:
    watched, account = Watched(), make_account(expected_until=LATER)
    both: dict[str, Any] = {"address": account.address, "key": account.key}
    [payer] = make_watched()
    [own] = make_watched(merchant=account.merchant, **both)
    [strangers] = make_watched(**both)
    watched.tick()
    watched.pay(account, 25, by=payer)
    # The payer's side is read first: it must not write the other side's, which does not know yet that it is a payment.
    watched.ledger.trouble = breaks_on(bytes(account.key))
    watched.tick(after=61)
    assert moved(own) == []
    watched.ledger.trouble = breaks_on(b"")
    watched.tick(after=61)
    assert Transfer.objects.get().units == 25
    assert moved(own) == [("in", 25, payer.address, True)]
    # Another merchant's reports do not have it.
    assert moved(strangers) == [("in", 25, payer.address, False)]
    assert moved(payer) == [("out", 25, account.address, False)]


def test_what_leaves_a_receiving_wallet_nobody_watches_is_recorded_nowhere() -> None:
    watched, account = Watched(), make_account(expected_until=LATER)
    watched.tick()
    watched.pay(make_watched()[0], 5, by=account)
    watched.tick(after=1)
    assert not Transfer.objects.exists()
    assert not WatchedMovement.objects.filter(direction="out").exists()


def test_what_a_fork_took_of_a_watched_wallet_is_orphaned_and_revived() -> None:
    watched, [wallet, other] = Watched(), make_watched(2)
    watched.tick()
    told = watched.pay(other, 20, by=wallet)
    watched.tick(after=61)
    assert states() == [CONFIRMED] * 2
    watched.ledger.drop(told)
    watched.ledger.height += 2
    watched.tick(after=61)
    assert states() == [ORPHANED] * 2
    watched.ledger.mine_again(told)
    watched.tick(after=61)
    assert states() == [CONFIRMED] * 2
    heights = set(WatchedMovement.objects.values_list("block_height", flat=True))
    assert heights == {watched.ledger.height}


def test_what_cannot_be_asked_for_in_a_watched_wallet_delays_no_payment() -> None:
    watched = Watched(Ledger(confirmations=5))
    account, [wallet] = make_account(expected_until=LATER), make_watched()
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=61)
    watched.ledger.drop(told)
    watched.ledger.forgetful = no_answer()
    watched.pay(account)
    watched.ledger.height += 10
    watched.tick(after=61)
    assert Transfer.objects.get().state == CONFIRMED
    assert states() == [DETECTED]
    watched.ledger.forgetful = None
    watched.tick(after=61)
    assert states() == [ORPHANED]


def test_a_wallet_that_is_given_up_is_not_read_and_its_cursor_forgotten() -> None:
    watched, [wallet, kept] = Watched(), make_watched(2)
    account = make_account()
    [same] = make_watched(address=account.address, key=account.key)
    watched.tick()
    for given_up in (wallet, same):
        remove_watched_wallet(given_up, now=watched.now)
    watched.tick(after=61)
    # The account that somebody receives at is still wanted.
    left = {bytes(one.key) for one in AccountCursor.objects.all()}
    assert left == {bytes(kept.key), bytes(account.key)}
    watched.tick(after=61)
    assert watched.asked(wallet) <= 2 < watched.asked(kept) == watched.asked(account)


def test_wallets_of_simulated_money_are_not_read() -> None:
    watched = Watched()
    make_watched(mode=Mode.TEST)
    watched.tick()
    assert not AccountCursor.objects.exists()


_MANY = """
    INSERT INTO wallets_watchedwallet (
        public_id, merchant_id, mode, chain, address, key, label, tags, status, history_error, created_at)
    SELECT 'wal_' || n, %s, 'live', 'solana', 'watched' || n, sha256(n::text::bytea), '', '{}', 'active', '', now()
    FROM generate_series(1, 10000) AS n
"""


@pytest.mark.unmeasured
def test_ten_thousand_watched_wallets_delay_nobody_and_keep_to_the_budget() -> None:
    crowded = Watched(Ledger(at_once=10), solana_spec(REQUESTS_PER_MINUTE="600"))
    expected = make_account(expected_until=LATER)
    idle = make_accounts(20)
    crowded.run(62)
    alone = crowded.asked(expected)
    with connection.cursor() as cursor:
        cursor.execute(_MANY, [make_merchant().pk])
        # The plan that PostgreSQL kept for twenty accounts took half a minute for so many, until it next counted the rows.
        cursor.execute("SET LOCAL statement_timeout = '5s'")
    crowded.run(10)
    crowded.ledger.asked.clear()
    before = crowded.ledger.requests
    crowded.run(62)
    assert crowded.ledger.requests - before <= 620
    # As often as if nobody was watched, but for the second in which the last of the budget was spent on it.
    assert alone - 1 <= crowded.asked(expected)
    assert min(crowded.asked(one) for one in idle) >= 1
    received = {bytes(one.key) for one in (expected, *idle)}
    others = {one.key for one in crowded.ledger.asked} - received
    # What is left over is theirs.
    assert len(others) > 50


def test_watched_wallets_that_cannot_be_read_are_no_failure_of_their_chain() -> None:
    """Such as those of exchanges, in which more moves than a watcher can follow."""
    watched = Watched(Ledger(at_once=10))
    accounts = [make_account(expected_until=LATER) for _ in range(10)]
    busy = {bytes(one.key) for one in make_watched(40)}
    [quiet] = make_watched()

    def trouble(account: Account) -> None:
        if account.key in busy:
            raise no_answer()

    watched.ledger.trouble = trouble
    watched.run(61)
    # All of the chain's payments are asked for together, in each of its passes.
    assert {watched.asked(one) for one in accounts} == {61}
    assert ChainCursor.objects.get().failing_since is None
    watched.pay(quiet)
    watched.run(130)
    assert [units for _, units, _, _ in moved(quiet)] == [25]


def test_a_chain_on_which_nothing_but_such_wallets_are_read_has_not_failed() -> None:
    watched, [busy] = Watched(), make_watched()
    watched.ledger.trouble = breaks_on(bytes(busy.key))
    watched.run(130)
    cursor = ChainCursor.objects.get()
    assert cursor.failing_since is None
    assert cursor.head_at is not None
    assert watched.now - cursor.head_at < timedelta(seconds=61)
    assert 2 <= watched.asked(busy) <= 4


def test_a_history_is_worth_so_many_requests_at_a_time_and_no_more() -> None:
    """Where no end is set, one turn may take a thousand pages, and keep them all in the watchers' process."""
    watched, ledger = Watched(), Ledger(height=100)
    watched.tick()
    spans = {"history_from": 1, "history_height": 0, "history_until": 90}
    [wallet] = make_watched(**spans)

    class Times:
        before = at = staticmethod(lambda _: ledger.block(1))

    history = AccountHistory(watched.spec, ledger, Times(), owner=watched.owner)
    assert history.read([wallet], genesis=ledger.first, now=watched.now)
    assert [one.most is not None and one.most <= 100 for one in ledger.asked] == [True]


def test_while_nobody_is_expected_watched_wallets_have_the_whole_budget() -> None:
    make_watched(700)
    watched = Watched(Ledger(at_once=10), solana_spec(REQUESTS_PER_MINUTE="600"))
    watched.run(60)
    assert 450 < watched.ledger.requests <= 616
    account = make_account(expected_until=LATER)
    watched.run(5)
    assert watched.asked(account) >= 1


def test_a_wallet_that_a_payout_may_leave_is_read_in_each_pass_before_the_others() -> None:
    watched = Watched(Ledger(at_once=1), solana_spec(REQUESTS_PER_MINUTE="600"))
    idle = make_accounts(300)
    [paying, failing] = make_watched(2, expected_until=LATER)
    watched.run(5)
    asked = watched.asked(paying)
    watched.run(30)
    assert watched.asked(paying) - asked > 30 / 2
    # The others have the rest of the budget.
    assert sum(watched.asked(one) for one in idle) > 50
    watched.ledger.trouble = breaks_on(bytes(failing.key))
    watched.run(10)
    asked = watched.asked(failing)
    watched.run(30)
    # Such a one waits among those without expected payments.
    assert watched.asked(failing) - asked <= 1
    assert [one.account.key for one in due_accounts(watched.spec, now=watched.now, most_others=500)].count(
        bytes(failing.key)
    ) <= 1


def test_a_payout_delays_no_payment() -> None:
    watched = Watched(Ledger(at_once=10))
    account = make_account(expected_until=LATER)
    [busy] = make_watched(1, expected_until=LATER)
    watched.ledger.trouble = breaks_on(bytes(busy.key))
    watched.run(61)
    cursor = ChainCursor.objects.get()
    assert (watched.asked(account), cursor.failing_since, cursor.accounts_read_at) == (61, None, watched.now)


def test_a_receiving_wallet_that_payouts_leave_is_read_once_a_pass() -> None:
    watched, account = Watched(), make_account()
    make_watched(merchant=account.merchant, address=account.address, key=account.key, expected_until=LATER)
    watched.run(10)
    assert watched.asked(account) == 10
    account.expected_until = LATER
    account.save()
    watched.run(10)
    assert watched.asked(account) == 20


def test_who_pays_is_read_at_full_pace_for_as_long_as_that_is_expected() -> None:
    watched, [wallet] = Watched(), make_watched(expected_until=NOW + timedelta(minutes=1))
    watched.run(60)
    assert watched.asked(wallet) == 60
    watched.seconds += 600
    before = watched.asked(wallet)
    watched.run(60)
    assert watched.asked(wallet) - before <= 2
