"""A checkout whose seen transfers pay it in full asks for nothing more, final or not."""

from typing import Any

import pytest

from checkouts.attribution import queue
from checkouts.attribution.exact_rules import MOST_NEAR
from checkouts.states import CheckoutStatus, InboxReason
from tests.checkouts.arrivals import Till, exact, inbox_item, payer_of
from tests.checkouts.watcher import DOLLAR, attribute, received, status_of
from tests.factories import make_checkout, make_transfer

pytestmark = pytest.mark.django_db

STRANGERS = 201_500_000


@pytest.mark.parametrize(("own_first", "batch"), [(True, 1), (True, 500), (False, 500)])
def test_money_near_a_paid_checkouts_price_waits_for_a_person(till, own_first, batch):
    paid, other = till.checkout("200.00", 2_700), till.checkout("204.00", 1_300)
    sent = {}
    for units in (exact(paid), STRANGERS) if own_first else (STRANGERS, exact(paid)):
        sent[units] = till.sees(units)
    attribute(batch=batch)
    assert payer_of(sent[exact(paid)]) == paid
    assert status_of(paid) == CheckoutStatus.PROCESSING
    assert inbox_item(sent[STRANGERS]).reason == InboxReason.UNMATCHED
    till.confirms()
    attribute()
    assert status_of(paid) == CheckoutStatus.COMPLETED
    assert received(paid) == exact(paid)
    assert status_of(other) == CheckoutStatus.PENDING


@pytest.mark.parametrize("own_first", [True, False])
@pytest.mark.parametrize("by_address", [True, False])
def test_a_round_price_pays_the_one_that_still_asks_in_the_same_batch(till, own_first, by_address):
    paid, other = till.checkout(suffix=100), till.checkout(suffix=200)

    def own() -> None:
        if not by_address:
            till.sees(exact(paid))
            return
        address = make_checkout().offers["base"]["address"]
        paid.offers["base"] = {"tokens": ["USDC"], "address": address}
        paid.save(update_fields=["offers"])
        make_transfer(paid, recipient=address, units=25 * DOLLAR)

    if own_first:
        own()
    round_price = till.sees()
    if not own_first:
        own()
    attribute()
    assert payer_of(round_price) == other
    assert status_of(paid) == CheckoutStatus.PROCESSING


def test_a_crowd_of_paid_checkouts_hides_nobody(till):
    for number in range(MOST_NEAR + 5):
        paid = till.checkout(suffix=100 + number)
        till.sees(exact(paid))
    attribute()
    wanted = till.checkout(suffix=5_000)
    transfer = till.sees(25_100_000)
    attribute()
    assert payer_of(transfer) == wanted


def test_its_own_exact_amount_again_is_extra(till):
    paid = till.checkout(suffix=100)
    till.sees(exact(paid))
    attribute()
    again = till.sees(exact(paid))
    attribute()
    item = inbox_item(again)
    assert (item.reason, item.checkout) == (InboxReason.EXTRA, paid)
    assert received(paid) == exact(paid)


def reorg_and_second_payment(till: Till) -> Any:
    """A checkout's money is taken back, and its buyer pays again before anything was processed."""
    paid = till.checkout(suffix=100)
    first = till.sees(exact(paid))
    attribute()
    till.watcher().loses(first)
    second = till.sees(exact(paid))
    attribute()
    return paid, second


def test_a_checkout_that_lost_its_money_to_a_reorg_asks_again_at_once(till):
    paid, second = reorg_and_second_payment(till)
    assert payer_of(second) == paid
    assert received(paid) == exact(paid)
    till.confirms()
    attribute()
    assert status_of(paid) == CheckoutStatus.COMPLETED


def test_without_processing_reorgs_first_the_second_payment_would_be_extra(till, monkeypatch):
    """The negative control of the test above."""
    monkeypatch.setattr(queue, "_changed_first", lambda transfers: transfers)
    _, second = reorg_and_second_payment(till)
    assert inbox_item(second).reason == InboxReason.EXTRA
