"""What was recorded lately is compared with what is read again."""

import pytest

from tests.wallets.accounts import Watched, make_account
from tests.wallets.watchers.test_account_forks import CONFIRMED, LATER, states

pytestmark = pytest.mark.django_db


def test_what_one_lagging_node_does_not_list_is_not_orphaned() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    watched.ledger.drop(told)
    watched.ledger.known_elsewhere.add(told.tx_hash)
    watched.tick(after=1)
    assert states() == [CONFIRMED]


def test_what_was_asked_for_after_it_was_final_is_not_asked_for_again() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.pay(wallet)
    watched.tick()
    watched.ledger.height += 100
    watched.tick(after=1)
    before = watched.ledger.requests
    watched.tick(after=1)
    # Head, reading, account, and once: what is final, and whether it is lost.
    assert watched.ledger.requests - before == 5
    before = watched.ledger.requests
    watched.tick(after=1)
    assert watched.ledger.requests - before == 3


def test_where_nothing_is_recent_following_forks_asks_no_node() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.pay(wallet)
    watched.tick()
    watched.ledger.height += 1_000
    # What it once was asked was what is final by now.
    watched.run(20)
    before = watched.ledger.requests
    for _ in range(10):
        watched.ledger.height += 25
        watched.tick(after=10)
    # The head, the reading and its one account, and a local chain's first block.
    assert watched.ledger.requests - before == 10 * 4
