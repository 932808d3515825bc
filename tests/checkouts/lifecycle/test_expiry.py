from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.states import Mode
from checkouts.lifecycle import expiry, moves
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus, InboxReason
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, events_of, fresh, inbox_of, pay
from tests.factories import NOON, make_checkout
from wallets.models import ChainCursor

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
