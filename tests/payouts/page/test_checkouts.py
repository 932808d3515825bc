"""What a checkout's page says of money that a refund has sent back: a buyer who is told to ask for it is paid twice."""

import pytest
from django.db import transaction
from django.test import Client

from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout
from payouts.lifecycle.service import conclude_payout
from tests.checkouts.page.test_views import page_of
from tests.checkouts.watcher import DOLLAR, SOON, pay
from tests.factories import make_checkout
from tests.payouts.factories import BUYER, approved, make_paid, outflow_for, refund_of
from tests.payouts.test_service import LATER

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


def send_back(checkout: Checkout, units: int) -> None:
    """Refund some of a checkout's money, until it is final."""
    payout = approved(refund_of(checkout, units, address=BUYER).payout)
    conclude_payout(payout, outflow_for(payout), now=SOON)


def part_paid() -> Checkout:
    """An expired checkout of 25 USD that received 20."""
    checkout = make_checkout()
    pay(checkout, 20 * DOLLAR)
    with transaction.atomic():
        expire(list(Checkout.objects.locked()), now=LATER)
    return checkout


def test_who_overpaid_is_not_told_to_ask_for_what_came_back(client: Client) -> None:
    checkout = make_paid(units=33 * DOLLAR)
    assert "You overpaid by 8.00 USDC." in page_of(client, checkout)
    send_back(checkout, 8 * DOLLAR)
    assert "You overpaid by" not in page_of(client, checkout)


def test_who_paid_too_little_reads_that_it_came_back(client: Client) -> None:
    checkout = part_paid()
    assert "for a refund, or how to pay the rest." in page_of(client, checkout)
    send_back(checkout, 20 * DOLLAR)
    text = page_of(client, checkout)
    assert "Your money was sent back" in text
    assert "for a refund, or how to pay the rest." not in text


def test_who_got_a_part_back_may_still_ask_for_the_rest(client: Client) -> None:
    checkout = part_paid()
    send_back(checkout, 5 * DOLLAR)
    text = page_of(client, checkout)
    assert "A part of your money was sent back" in text
    assert "for a refund, or how to pay the rest." in text
