"""Expiry where checkouts are paid in the merchant's own wallet: whose reading and whose queue it waits for."""

from datetime import datetime, timedelta

import pytest

from checkouts.lifecycle import expiry
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus, InboxReason
from tests.checkouts.arrivals import Till, exact, inbox_item
from tests.checkouts.watcher import Watcher, attribute, events_of, fresh, status_of
from tests.factories import NOON, make_merchant
from wallets.models import AccountCursor, ChainCursor

pytestmark = pytest.mark.django_db

END = NOON + timedelta(minutes=30)
SECOND = timedelta(seconds=1)
READ = END + 61 * SECOND
LATER = END + timedelta(hours=1)


@pytest.fixture
def till() -> Till:
    """A merchant whose wallets were both read long enough."""
    till = Till()
    Watcher("ethereum").read_through(READ)
    ChainCursor.objects.create(chain="solana")
    read_account(till, READ)
    return till


def read_account(till: Till, at: datetime | None) -> None:
    """Read the merchant's Solana account to its end, in a pass begun at `at`."""
    wallet = till.wallets["solana"]
    AccountCursor.objects.update_or_create(
        chain="solana", key=wallet.key, defaults={"address": wallet.address, "read_through_at": at}
    )


def expires(checkout: Checkout, now: datetime = LATER) -> bool:
    expire_due_checkouts(now=now)
    return fresh(checkout).status == CheckoutStatus.EXPIRED


def test_a_checkout_expires_once_its_chains_and_accounts_are_read(till):
    checkout = till.checkout(suffix=100)
    assert expires(checkout)
    assert events_of(checkout) == ["expired"]


@pytest.mark.parametrize(("begun", "expected"), [(None, False), (END + 60 * SECOND, False), (READ, True)])
def test_its_own_account_must_have_been_read_after_the_grace(till, begun, expected):
    checkout = till.checkout(suffix=100)
    read_account(till, begun)
    assert expires(checkout) is expected


def test_an_account_nobody_has_begun_to_read_is_waited_for_a_day_at_most(till):
    checkout = till.checkout(suffix=100)
    AccountCursor.objects.all().delete()
    assert not expires(checkout, now=END + timedelta(hours=24) - SECOND)
    assert expires(checkout, now=END + timedelta(hours=24))


def test_an_account_that_is_to_be_read_again_is_waited_for_whatever_its_chain_vouched_for(till):
    """A fork took something: what is there instead may be a payment in time."""
    ChainCursor.objects.filter(chain="solana").update(read_through_at=READ)
    checkout = till.checkout(suffix=100)
    read_account(till, None)
    assert not expires(checkout)
    read_account(till, READ)
    assert expires(checkout)


def test_another_merchants_account_counts_for_nothing(till):
    other = Till(make_merchant())
    read_account(other, None)
    checkout = till.checkout(suffix=100)
    assert expires(checkout)
    assert not expires(other.checkout(suffix=100))


def test_the_chain_counts_where_it_is_read_block_by_block(till):
    checkout = till.checkout(suffix=100, chains=("ethereum",))
    Watcher("ethereum").read_through(END)
    assert not expires(checkout)
    Watcher("ethereum").read_through(READ)
    assert expires(checkout)


def test_money_in_the_wallet_that_nobody_has_judged_is_waited_for(till):
    checkout = till.checkout(suffix=100)
    till.sees(exact(checkout))
    till.confirms()
    assert not expires(checkout)
    attribute()
    assert not expires(checkout)
    assert status_of(checkout) == CheckoutStatus.COMPLETED


def test_without_waiting_for_it_that_money_would_be_late(till, monkeypatch):
    """The negative control of the test above."""
    forgetful = expiry._DUE.replace("wallet_id IS NOT NULL)", "wallet_id IS NULL)")
    assert forgetful != expiry._DUE
    monkeypatch.setattr(expiry, "_DUE", forgetful)
    checkout = till.checkout(suffix=100)
    transfer = till.sees(exact(checkout))
    assert expires(checkout)
    attribute()
    assert inbox_item(transfer).reason == InboxReason.LATE_OUTAGE


def test_money_for_somebody_else_is_waited_for_until_it_is_judged(till):
    checkout, other = till.checkout(suffix=100), till.checkout(suffix=200)
    transfer = till.sees(exact(other))
    assert not expires(checkout)
    attribute()
    assert expires(checkout)
    till.watcher().confirms(transfer)
    assert not expires(other)


def test_only_chains_it_was_offered_on_and_its_own_merchants_money_hold_it_up(till):
    here = till.checkout(suffix=100, chains=("solana",))
    till.sees(25_000_000)
    Till(make_merchant()).sees(25_000_000, chain="solana")
    assert expires(here)


def test_money_that_was_judged_before_holds_up_its_own_checkout_alone(till):
    """Its facts changed: that is for the checkout it was credited to."""
    paid, idle = till.checkout(suffix=100), till.checkout(suffix=200)
    transfer = till.sees(12_500_100)
    attribute()
    till.watcher().confirms(transfer)
    assert expires(idle)
    assert not expires(paid)
    attribute()
    assert expires(paid)
    assert events_of(paid) == ["underpaid", "expired"]


def test_money_that_comes_to_light_after_we_gave_up_is_our_outage(till):
    checkout = till.checkout(suffix=100)
    AccountCursor.objects.all().delete()
    assert expires(checkout, now=END + timedelta(hours=24))
    transfer = till.sees(exact(checkout))
    attribute()
    assert inbox_item(transfer).reason == InboxReason.LATE_OUTAGE
    assert inbox_item(transfer).checkout == checkout


def test_money_that_cannot_be_judged_holds_a_checkout_up_for_a_day_at_most(till):
    checkout = till.checkout(suffix=100)
    till.sees(exact(checkout))
    assert not expires(checkout, now=END + timedelta(hours=24) - SECOND)
    assert expires(checkout, now=END + timedelta(hours=24))


def test_of_very_many_that_wait_for_a_chain_others_are_found_by_lot(till, monkeypatch):
    monkeypatch.setattr(expiry, "LOOKED_AT", 3)
    waiting = Till(make_merchant())
    for _ in range(8):
        waiting.checkout()
    checkout = till.checkout(expires_at=END + SECOND / 2)
    sweeps = 0
    while not expires(checkout):
        sweeps += 1
        assert sweeps < 1_000
    assert Checkout.objects.filter(status=CheckoutStatus.EXPIRED).get() == checkout
