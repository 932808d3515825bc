"""The first part of a payment that comes shortly before the end gives its buyer time to send the rest."""

from datetime import datetime, timedelta

import pytest

from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import AmountReservation, Checkout
from checkouts.states import TIME_FOR_THE_REST, CheckoutStatus
from tests.checkouts.arrivals import SUFFIX, Till
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, fresh, inbox_of, last_body, status_of
from tests.factories import NOON, make_checkout
from wallets.models import DepositAddress
from wallets.watchers.demand import WATCH_AFTER_EXPIRY

pytestmark = pytest.mark.django_db

END = NOON + timedelta(minutes=30)
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
SHORTLY = END - 2 * MINUTE


def see_part(checkout: Checkout, dollars: float = 10, *, at: datetime = SHORTLY, is_final: bool = True) -> Watcher:
    """Money for the checkout in a block of this moment, seen at once."""
    watcher = Watcher(height=100 + int((at - NOON).total_seconds()))
    transfer = watcher.sees(checkout, int(dollars * DOLLAR), at=at)
    if is_final:
        watcher.confirms(transfer, now=at)
    attribute(now=at)
    return watcher


@pytest.mark.parametrize("is_final", [True, False])
def test_a_first_part_shortly_before_the_end_leaves_a_quarter_of_an_hour_for_the_rest(is_final):
    checkout = make_checkout()
    see_part(checkout, is_final=is_final)
    assert fresh(checkout).expires_at == SHORTLY + TIME_FOR_THE_REST
    assert status_of(checkout) == (CheckoutStatus.UNDERPAID if is_final else CheckoutStatus.PENDING)


def test_its_event_tells_the_new_end_and_its_chains_are_read_at_full_pace_until_then():
    checkout = make_checkout()
    see_part(checkout)
    assert last_body(checkout)["type"] == "checkout.underpaid"
    assert last_body(checkout)["data"]["expires_at"] == "2026-11-20T12:43:00.000000Z"
    deposit = DepositAddress.objects.get(nonce=checkout.deposit_nonce)
    assert deposit.watched_until == SHORTLY + TIME_FOR_THE_REST + WATCH_AFTER_EXPIRY


def test_a_part_that_leaves_more_time_than_that_changes_nothing():
    checkout = make_checkout()
    see_part(checkout, at=END - TIME_FOR_THE_REST)
    assert fresh(checkout).expires_at == END


@pytest.mark.parametrize(("dollars", "is_real"), [(0.01, False), (2.49, False), (2.5, True)])
def test_less_than_a_tenth_of_the_price_gives_no_time(dollars, is_real):
    """A cent would hold the rate of a converted price for longer than the merchant agreed to."""
    checkout = make_checkout()
    see_part(checkout, dollars)
    assert fresh(checkout).expires_at == (SHORTLY + TIME_FOR_THE_REST if is_real else END)


def test_a_cent_before_does_not_cost_a_buyer_the_time():
    checkout = make_checkout()
    see_part(checkout, 0.01, at=SHORTLY - MINUTE)
    see_part(checkout, 10)
    assert fresh(checkout).expires_at == SHORTLY + TIME_FOR_THE_REST


def test_a_second_part_gives_no_more_time():
    """Otherwise a cent now and then would hold a price for ever."""
    checkout = make_checkout()
    see_part(checkout)
    see_part(checkout, 5, at=SHORTLY + 14 * MINUTE)
    assert fresh(checkout).expires_at == SHORTLY + TIME_FOR_THE_REST


def test_the_whole_price_needs_no_more_time():
    checkout = make_checkout()
    see_part(checkout, 25, is_final=False)
    assert status_of(checkout) == CheckoutStatus.PROCESSING
    assert fresh(checkout).expires_at == END


@pytest.mark.parametrize("late", [timedelta(0), 30 * SECOND, MINUTE * 5])
def test_a_part_that_is_seen_after_the_end_opens_nothing_again(late):
    checkout = make_checkout()
    watcher = Watcher()
    watcher.sees(checkout, 10 * DOLLAR, at=SHORTLY)
    watcher.confirms(now=END + late)
    attribute(now=END + late)
    assert status_of(checkout) == CheckoutStatus.UNDERPAID
    assert fresh(checkout).expires_at == END


def test_the_rest_in_the_added_time_completes_it():
    checkout = make_checkout()
    see_part(checkout)
    for chain in ("base", "polygon"):
        Watcher(chain, height=10_000).read_through(END + 2 * MINUTE)
    assert expire_due_checkouts(now=END + 3 * MINUTE) == 0
    see_part(checkout, 15, at=END + 12 * MINUTE)
    assert status_of(checkout) == CheckoutStatus.COMPLETED
    assert inbox_of(checkout) == []


def test_it_expires_at_the_end_of_the_added_time():
    checkout = make_checkout()
    see_part(checkout)
    end = SHORTLY + TIME_FOR_THE_REST
    for chain in ("base", "polygon"):
        Watcher(chain, height=10_000).read_through(end + 61 * SECOND)
    assert expire_due_checkouts(now=end - SECOND) == 0
    assert expire_due_checkouts(now=end + 2 * MINUTE) == 1
    assert status_of(checkout) == CheckoutStatus.EXPIRED


def test_a_part_on_a_network_of_exact_amounts_gives_time_and_reserves_the_rest():
    till = Till()
    checkout = till.checkout(suffix=SUFFIX)
    # An exchange took its fee out: the digits below a cent name the checkout.
    till.sees(10 * DOLLAR + SUFFIX, at=SHORTLY)
    attribute(now=SHORTLY)
    assert fresh(checkout).expires_at == SHORTLY + TIME_FOR_THE_REST
    assert AmountReservation.objects.filter(checkout=checkout).count() == 2
