"""However many accounts there are, their chain's nodes are asked no more often than the operator allows."""

from datetime import timedelta

import pytest

from tests.exhaustive import sample
from tests.wallets.accounts import NOW, Watched, cursor_of, make_account, make_accounts, solana_spec
from tests.wallets.ledger import Ledger
from wallets.chains.base import Account
from wallets.models import ChainCursor, Transfer
from wallets.watchers.leases import LONGEST_LEASE_SECONDS
from wallets.watchers.passes import PassOutcome

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]
LATER = NOW + timedelta(minutes=30)
# A group of ten, its head, and what following forks may ask: the most a pass begins with an empty purse.
ONE_TOO_MANY = 16


def limited(per_minute: int, *, at_once: int = 10) -> Watched:
    """A chain whose nodes may be asked so often."""
    spec = solana_spec(REQUESTS_PER_MINUTE=str(per_minute))
    return Watched(Ledger(at_once=at_once), spec)


def requests_by_second(watched: Watched, seconds: int) -> list[int]:
    """Let it run; return how many requests there had been after each second."""
    counts = []
    for _ in range(seconds):
        watched.tick(after=1)
        counts.append(watched.ledger.requests)
    return counts


def busiest_minute(counts: list[int]) -> int:
    return max(end - start for start, end in zip(counts, counts[60:], strict=False))


@pytest.mark.parametrize("expected", sample([0, 20, 1_000], 2))
def test_the_budget_is_kept_with_a_thousand_accounts(expected: int) -> None:
    watched = limited(600)
    make_accounts(1_000 - expected)
    make_accounts(expected, expected_until=LATER)
    counts = requests_by_second(watched, 200)
    # All of it is used: there is more to read than it suffices for.
    assert 500 < busiest_minute(counts) <= 600 + ONE_TOO_MANY


def test_without_the_budget_two_hundred_accounts_would_already_be_too_many() -> None:
    watched = limited(1_000_000)
    make_accounts(200, expected_until=LATER)
    assert busiest_minute(requests_by_second(watched, 62)) > 10_000


def test_what_is_paid_to_the_expected_among_a_thousand_is_seen_within_seconds() -> None:
    watched = limited(600)
    make_accounts(1_000)
    expected = make_account(expected_until=LATER)
    watched.run(120)
    watched.pay(expected)
    watched.run(5)
    assert Transfer.objects.get().wallet_id == expected.pk


def test_late_money_to_one_of_few_idle_accounts_is_seen_within_two_minutes() -> None:
    watched = limited(50)
    wallets = [make_account() for _ in range(10)]
    watched.run(61)
    watched.pay(wallets[7])
    watched.run(121)
    assert Transfer.objects.get().wallet_id == wallets[7].pk


def test_an_idle_chain_asks_once_a_minute() -> None:
    watched = limited(200)
    wallets = [make_account() for _ in range(10)]
    watched.run(61)
    before, asked = watched.ledger.requests, watched.asked(wallets[0])
    watched.run(300)
    assert watched.asked(wallets[0]) - asked == 5
    # Head, first block of a local chain, and one group of ten.
    assert watched.ledger.requests - before == 5 * 13


def test_who_is_expected_all_of_a_sudden_is_read_in_the_next_pass() -> None:
    watched, wallet = limited(200), make_account()
    watched.run(30)
    assert watched.tick(after=1) is PassOutcome.NOT_DUE
    type(wallet).objects.update(expected_until=LATER)
    assert watched.tick(after=1) is PassOutcome.IDLE
    assert cursor_of(wallet).read_at == watched.now


def test_with_the_smallest_budget_every_account_is_read_all_the_same() -> None:
    watched = limited(6, at_once=2)
    wallets = [make_account(expected_until=LATER) for _ in range(6)]
    watched.run(400, poll=2)
    assert all(watched.asked(one) >= 2 for one in wallets)


def test_how_much_is_asked_is_written_down() -> None:
    watched = limited(600)
    make_account(expected_until=LATER)
    watched.run(90)
    cursor = ChainCursor.objects.get()
    assert cursor.requests == watched.ledger.requests
    assert cursor.reads == len(watched.ledger.asked)
    # Head, reading and one account each second, and a first block every five.
    assert 180 <= cursor.requests_minute <= 200


def test_who_comes_while_the_others_are_saved_for_is_read_at_once() -> None:
    watched = limited(50, at_once=1)
    make_accounts(100)
    wallet = make_account()
    watched.run(120)
    # Right after a pass that spent all there was.
    while watched.tick(after=1) is PassOutcome.NOT_DUE:
        pass
    type(wallet).objects.filter(pk=wallet.pk).update(expected_until=LATER)
    watched.run(5)
    through = cursor_of(wallet).read_through_at
    assert through is not None
    assert watched.now - through < timedelta(seconds=5)


def test_a_pass_on_slow_nodes_ends_while_its_lease_lasts() -> None:
    watched = limited(1_000_000)
    wallets = make_accounts(100, expected_until=LATER)

    def trouble(account: Account) -> None:
        watched.seconds += 1

    watched.ledger.trouble = trouble
    watched.tick()
    assert watched.seconds < LONGEST_LEASE_SECONDS / 2
    for _ in range(10):
        watched.tick()
    assert all(watched.asked(one) >= 1 for one in wallets)
