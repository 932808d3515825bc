"""When a checkout expires: after its time, when whatever could still have paid it was read."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.states import Mode
from checkouts.lifecycle import expiry, moves
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus, InboxReason
from tests.checkouts.arrivals import Till, exact, inbox_item
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, events_of, fresh, inbox_of, pay, status_of
from tests.factories import NOON, make_checkout, make_merchant
from wallets.models import AccountCursor, ChainCursor

pytestmark = pytest.mark.django_db


END = NOON + timedelta(minutes=30)
SECOND = timedelta(seconds=1)
READ = END + 61 * SECOND
LATER = END + timedelta(hours=1)


def read_through(at: datetime = READ) -> None:
    """Both offered chains are read through a head their sources agree on, in a pass begun at `at`."""
    for chain in ("base", "polygon"):
        Watcher(chain).read_through(at)


def expires(checkout: Checkout, now: datetime = LATER) -> bool:
    """Whether the sweep of this moment expires the checkout."""
    count = expire_due_checkouts(now=now)
    expired = fresh(checkout).status == CheckoutStatus.EXPIRED
    assert count == int(expired)
    return expired


def test_an_unpaid_checkout_expires_and_its_merchant_is_told():
    checkout = make_checkout()
    read_through()
    assert expires(checkout)
    assert events_of(checkout) == ["expired"]
    assert fresh(checkout).paid_at is None


def test_nothing_expires_before_its_time():
    checkout = make_checkout()
    read_through(at=LATER)
    assert not expires(checkout, now=END - SECOND)
    assert expires(checkout, now=END)


@pytest.mark.parametrize(("begun", "expected"), [(END, False), (END + 60 * SECOND, False), (END + 61 * SECOND, True)])
def test_the_pass_must_have_begun_after_the_grace(begun, expected):
    checkout = make_checkout()
    read_through(at=begun)
    assert expires(checkout) is expected


@pytest.mark.parametrize("behind", ["base", "polygon"])
def test_every_offered_chain_must_be_read(behind):
    checkout = make_checkout()
    read_through()
    Watcher(behind).read_through(END)
    assert not expires(checkout)
    assert not events_of(checkout)
    Watcher(behind).read_through(READ)
    assert expires(checkout)


def test_a_chain_that_was_never_read_is_waited_for():
    checkout = make_checkout()
    Watcher("base").read_through(READ)
    assert not expires(checkout)
    ChainCursor.objects.create(chain="polygon")
    assert not expires(checkout)


def test_a_chain_that_was_not_offered_is_not_waited_for():
    offer = make_checkout().offers["base"]
    checkout = make_checkout(offers={"base": offer})
    other = make_checkout()
    Watcher("base").read_through(READ)
    Watcher("ethereum").read_through(END)
    assert expires(checkout)
    assert fresh(other).status == CheckoutStatus.PENDING


def test_patience_with_our_own_outage_ends_after_a_day():
    checkout = make_checkout()
    day = timedelta(hours=24)
    assert not expires(checkout, now=END + day - SECOND)
    assert expires(checkout, now=END + day)


def test_money_found_after_that_day_is_in_the_inbox_as_our_outage():
    checkout = make_checkout()
    expire_due_checkouts(now=END + timedelta(hours=24))
    watcher = Watcher()
    watcher.sees(checkout)
    watcher.confirms()
    attribute(now=END + timedelta(hours=25))
    assert inbox_of(checkout) == [InboxReason.LATE_OUTAGE]
    assert events_of(checkout) == ["expired"]


def test_an_underpaid_checkout_expires_too():
    checkout = make_checkout()
    pay(checkout, 10 * DOLLAR)
    read_through()
    assert expires(checkout)
    assert events_of(checkout) == ["underpaid", "expired"]


def test_a_transfer_nobody_has_looked_at_is_waited_for():
    checkout = make_checkout()
    watcher = Watcher()
    watcher.sees(checkout)
    watcher.confirms()
    read_through()
    assert not expires(checkout)
    attribute()
    assert not expires(checkout)
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_a_credited_transfer_that_is_not_final_is_waited_for():
    checkout = make_checkout()
    watcher = Watcher()
    watcher.sees(checkout, 3 * DOLLAR)
    attribute()
    read_through()
    assert not expires(checkout)
    watcher.confirms()
    attribute()
    assert expires(checkout)
    assert events_of(checkout) == ["underpaid", "expired"]


def test_money_that_was_seen_in_full_is_waited_for():
    checkout = make_checkout()
    watcher = Watcher()
    watcher.sees(checkout)
    attribute()
    read_through()
    assert not expires(checkout)
    assert fresh(checkout).status == CheckoutStatus.PROCESSING


def test_money_in_the_inbox_holds_no_checkout_open():
    checkout = make_checkout()
    watcher = Watcher()
    watcher.sees(checkout, at=READ)
    attribute()
    read_through()
    assert expires(checkout)
    assert inbox_of(checkout) == [InboxReason.LATE]


def test_a_reorganisation_lets_a_checkout_expire():
    checkout = make_checkout()
    watcher = Watcher()
    transfer = watcher.sees(checkout)
    attribute()
    watcher.loses(transfer)
    attribute()
    read_through()
    assert expires(checkout)
    assert events_of(checkout) == ["expired"]


def test_another_checkouts_money_holds_nobody_up():
    paid, idle = make_checkout(), make_checkout()
    Watcher().sees(paid)
    read_through()
    assert expires(idle)
    assert fresh(paid).status == CheckoutStatus.PENDING


def test_test_mode_waits_for_no_chain():
    checkout = make_checkout(mode=Mode.TEST)
    assert expires(checkout, now=END)
    assert events_of(checkout) == ["expired"]


@pytest.mark.parametrize("status", [CheckoutStatus.PROCESSING, CheckoutStatus.COMPLETED])
def test_checkouts_in_other_statuses_never_expire(status):
    checkout = make_checkout(status=status)
    read_through()
    assert not expires(checkout, now=END + timedelta(days=30))


def test_expiring_twice_tells_once():
    checkout = make_checkout()
    read_through()
    assert expires(checkout)
    assert expire_due_checkouts(now=LATER) == 0
    assert events_of(checkout) == ["expired"]


def test_a_sweep_expires_everything_due_however_much_that_is(monkeypatch):
    monkeypatch.setattr(expiry, "BATCH", 2)
    checkouts = [make_checkout() for _ in range(5)]
    read_through()
    assert expire_due_checkouts(now=LATER) == 5
    assert {fresh(checkout).status for checkout in checkouts} == {"expired"}


def test_a_sweep_with_nothing_due_asks_once():
    make_checkout()
    with CaptureQueriesContext(connection) as queries:
        assert expire_due_checkouts(now=END - SECOND) == 0
    asked = [query for query in queries if "SAVEPOINT" not in query["sql"]]
    assert len(asked) == 1


def test_one_checkout_that_cannot_expire_holds_up_no_other(monkeypatch):
    spoilt, fine = make_checkout(mode=Mode.TEST), make_checkout(mode=Mode.TEST)
    real = moves.expire

    def fail_on_spoilt(checkouts, *, now):
        if spoilt in checkouts:
            raise ValueError("nobody foresaw this")
        real(checkouts, now=now)

    monkeypatch.setattr(expiry, "expire", fail_on_spoilt)
    assert expiry.expire_due_checkouts(now=NOON + timedelta(hours=1)) == 1
    assert [fresh(c).status for c in (spoilt, fine)] == ["pending", "expired"]


# Expiry where checkouts are paid in the merchant's own wallet: whose reading and whose queue it waits for.


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


def has_expired(checkout: Checkout, now: datetime = LATER) -> bool:
    expire_due_checkouts(now=now)
    return fresh(checkout).status == CheckoutStatus.EXPIRED


def test_a_checkout_expires_once_its_chains_and_accounts_are_read(till):
    checkout = till.checkout(suffix=100)
    assert has_expired(checkout)
    assert events_of(checkout) == ["expired"]


@pytest.mark.parametrize(("begun", "expected"), [(None, False), (END + 60 * SECOND, False), (READ, True)])
def test_its_own_account_must_have_been_read_after_the_grace(till, begun, expected):
    checkout = till.checkout(suffix=100)
    read_account(till, begun)
    assert has_expired(checkout) is expected


def test_an_account_nobody_has_begun_to_read_is_waited_for_a_day_at_most(till):
    checkout = till.checkout(suffix=100)
    AccountCursor.objects.all().delete()
    assert not has_expired(checkout, now=END + timedelta(hours=24) - SECOND)
    assert has_expired(checkout, now=END + timedelta(hours=24))


def test_an_account_that_is_to_be_read_again_is_waited_for_whatever_its_chain_vouched_for(till):
    """A fork took something: what is there instead may be a payment in time."""
    ChainCursor.objects.filter(chain="solana").update(read_through_at=READ)
    checkout = till.checkout(suffix=100)
    read_account(till, None)
    assert not has_expired(checkout)
    read_account(till, READ)
    assert has_expired(checkout)


def test_another_merchants_account_counts_for_nothing(till):
    other = Till(make_merchant())
    read_account(other, None)
    checkout = till.checkout(suffix=100)
    assert has_expired(checkout)
    assert not has_expired(other.checkout(suffix=100))


def test_the_chain_counts_where_it_is_read_block_by_block(till):
    checkout = till.checkout(suffix=100, chains=("ethereum",))
    Watcher("ethereum").read_through(END)
    assert not has_expired(checkout)
    Watcher("ethereum").read_through(READ)
    assert has_expired(checkout)


def test_money_in_the_wallet_that_nobody_has_judged_is_waited_for(till):
    checkout = till.checkout(suffix=100)
    till.sees(exact(checkout))
    till.confirms()
    assert not has_expired(checkout)
    attribute()
    assert not has_expired(checkout)
    assert status_of(checkout) == CheckoutStatus.COMPLETED


def test_without_waiting_for_it_that_money_would_be_late(till, monkeypatch):
    """The negative control of the test above."""
    forgetful = expiry._DUE.replace("wallet_id IS NOT NULL)", "wallet_id IS NULL)")
    assert forgetful != expiry._DUE
    monkeypatch.setattr(expiry, "_DUE", forgetful)
    checkout = till.checkout(suffix=100)
    transfer = till.sees(exact(checkout))
    assert has_expired(checkout)
    attribute()
    assert inbox_item(transfer).reason == InboxReason.LATE_OUTAGE


def test_money_for_somebody_else_is_waited_for_until_it_is_judged(till):
    checkout, other = till.checkout(suffix=100), till.checkout(suffix=200)
    transfer = till.sees(exact(other))
    assert not has_expired(checkout)
    attribute()
    assert has_expired(checkout)
    till.watcher().confirms(transfer)
    assert not has_expired(other)


def test_only_chains_it_was_offered_on_and_its_own_merchants_money_hold_it_up(till):
    here = till.checkout(suffix=100, chains=("solana",))
    till.sees(25_000_000)
    Till(make_merchant()).sees(25_000_000, chain="solana")
    assert has_expired(here)


def test_money_that_was_judged_before_holds_up_its_own_checkout_alone(till):
    """Its facts changed: that is for the checkout it was credited to."""
    paid, idle = till.checkout(suffix=100), till.checkout(suffix=200)
    transfer = till.sees(12_500_100)
    attribute()
    till.watcher().confirms(transfer)
    assert has_expired(idle)
    assert not has_expired(paid)
    attribute()
    assert has_expired(paid)
    assert events_of(paid) == ["underpaid", "expired"]


def test_money_that_comes_to_light_after_we_gave_up_is_our_outage(till):
    checkout = till.checkout(suffix=100)
    AccountCursor.objects.all().delete()
    assert has_expired(checkout, now=END + timedelta(hours=24))
    transfer = till.sees(exact(checkout))
    attribute()
    assert inbox_item(transfer).reason == InboxReason.LATE_OUTAGE
    assert inbox_item(transfer).checkout == checkout


def test_money_that_cannot_be_judged_holds_a_checkout_up_for_a_day_at_most(till):
    checkout = till.checkout(suffix=100)
    till.sees(exact(checkout))
    assert not has_expired(checkout, now=END + timedelta(hours=24) - SECOND)
    assert has_expired(checkout, now=END + timedelta(hours=24))


def test_of_very_many_that_wait_for_a_chain_others_are_found_by_lot(till, monkeypatch):
    monkeypatch.setattr(expiry, "LOOKED_AT", 3)
    waiting = Till(make_merchant())
    for _ in range(8):
        waiting.checkout()
    checkout = till.checkout(expires_at=END + SECOND / 2)
    sweeps = 0
    while not has_expired(checkout):
        sweeps += 1
        assert sweeps < 1_000
    assert Checkout.objects.filter(status=CheckoutStatus.EXPIRED).get() == checkout
