"""Which accounts of a chain are read now, and which wait for their turn."""

from datetime import timedelta

import pytest

from tests.wallets.accounts import cursor_of, make_account, make_accounts
from tests.wallets.watchers.test_budget import LATER, limited
from wallets.models import AccountCursor, ChainCursor, Transfer

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


def test_who_is_expected_comes_first_and_the_others_have_their_turn() -> None:
    watched = limited(600)
    idle = make_accounts(1_000)
    expected = make_account(expected_until=LATER)
    watched.run(60)
    asked = watched.asked(expected)
    watched.run(180)
    assert watched.asked(expected) - asked > 180 / 5
    reads = [watched.asked(one) for one in idle]
    # The budget of four minutes suffices for each of them once, and for hardly any twice.
    assert min(reads) >= 1
    assert max(reads) - min(reads) <= 1


def test_a_new_wallet_is_read_from_the_next_pass_on() -> None:
    watched = limited(200)
    watched.run(30)
    wallet = make_account()
    watched.tick(after=1)
    assert cursor_of(wallet).height == watched.ledger.height


def test_an_account_that_was_read_by_a_clock_far_ahead_is_read_all_the_same() -> None:
    watched, wallet = limited(200), make_account()
    watched.run(61)
    ahead = watched.now + timedelta(days=400)
    AccountCursor.objects.update(read_at=ahead)
    watched.pay(wallet)
    watched.run(121)
    assert Transfer.objects.get().wallet_id == wallet.pk


def test_a_chain_whose_budget_does_not_suffice_says_how_old_its_knowledge_is() -> None:
    watched = limited(60)
    make_accounts(100, expected_until=LATER)
    watched.run(300)
    read_at = ChainCursor.objects.get().accounts_read_at
    assert read_at is not None
    age = watched.now - read_at
    assert timedelta(seconds=60) < age < timedelta(seconds=240)
