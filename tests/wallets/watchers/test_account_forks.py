"""Forks where accounts are read: what is not listed any more is lost only if no node knows it, and may return."""

from datetime import timedelta

import pytest

from tests.wallets.accounts import NOW, Watched, cursor_of, make_account
from tests.wallets.ledger import Ledger, no_answer
from wallets.models import Transfer
from wallets.states import TransferState

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=30)
DETECTED, CONFIRMED, ORPHANED = TransferState


def states() -> list[str]:
    return list(Transfer.objects.order_by("pk").values_list("state", flat=True))


def test_what_a_fork_took_is_orphaned_and_revived_when_it_returns() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    watched.ledger.drop(told)
    watched.ledger.height += 2
    watched.tick(after=10)
    assert states() == [ORPHANED]
    assert cursor_of(wallet).read_through_at is None
    watched.tick(after=1)
    assert cursor_of(wallet).read_through_at == watched.now
    watched.ledger.mine_again(told)
    watched.tick(after=1)
    assert states() == [CONFIRMED]
    found = Transfer.objects.get()
    assert (found.block_height, found.orphaned_at) == (watched.ledger.height, None)


def test_what_returns_far_below_the_head_is_found_as_well() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    watched.ledger.drop(told)
    watched.tick(after=10)
    watched.ledger.height += 200
    watched.tick(after=10)
    # A node that had lost sight of it tells of it again where it always was, further down than is read usually.
    watched.ledger.transfers.append(told)
    watched.tick(after=10)
    assert states() == [CONFIRMED]


def test_what_disappears_before_it_is_final_is_not_made_final() -> None:
    watched, wallet = (Watched(Ledger(confirmations=5)), make_account(expected_until=LATER))
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    assert states() == [DETECTED]
    watched.ledger.drop(told)
    watched.ledger.height += 10
    watched.ledger.forgetful = no_answer()
    watched.tick(after=1)
    # Nobody says whether it is lost: it waits.
    assert states() == [DETECTED]
    watched.ledger.forgetful = None
    watched.tick(after=1)
    assert states() == [ORPHANED]


def test_while_nodes_disagree_about_the_head_nothing_is_orphaned() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    watched.ledger.drop(told)
    watched.ledger.agreed = False
    watched.tick(after=10)
    assert states() == [CONFIRMED]


def test_what_was_final_on_a_local_chain_that_was_replaced_is_not_looked_for_on_the_new_one() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    watched.pay(wallet)
    watched.tick(after=1)
    assert states() == [CONFIRMED]
    watched.ledger.first = "another genesis"
    watched.ledger.transfers.clear()
    for _ in range(5):
        watched.ledger.height += 5
        watched.tick(after=10)
    # Another process does not know any more that there was another chain.
    watched.restart()
    watched.tick(after=10)
    assert states() == [CONFIRMED]
    watched.pay(wallet, 26)
    watched.tick(after=10)
    assert states() == [CONFIRMED, CONFIRMED]
