"""What checkouts cost their merchant: when they complete, once, and not while the network has taken the money back."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import FeeEntry
from accounts.states import FeeTier, Mode
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout
from checkouts.states import CheckoutException, CheckoutStatus
from tests.accounts.fee_entries import booked
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, fresh, in_status, pay, status_of
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db


def fee_of(checkout: Checkout) -> FeeEntry | None:
    """What was charged for a checkout."""
    return FeeEntry.objects.filter(subject_id=checkout.public_id).first()


def reversed_checkout() -> tuple[Checkout, Watcher, Any]:
    """One that completed, and whose money is gone."""
    checkout, watcher = in_status(CheckoutStatus.PROCESSING)
    transfer = checkout.payments.get().transfer
    watcher.confirms()
    attribute()
    watcher.loses(transfer)
    attribute(now=SOON + timedelta(hours=1))
    return checkout, watcher, transfer


def test_a_completed_checkout_costs_the_rate_of_what_it_received() -> None:
    checkout = make_checkout()
    pay(checkout, 25_003_700)
    entry = FeeEntry.objects.get()
    assert (entry.merchant, entry.subject_id) == (checkout.merchant, checkout.public_id)
    assert (entry.kind, entry.chain, entry.token) == ("checkout", "base", "USDC")
    assert (entry.received, entry.rate, entry.amount) == (Decimal("25.003700"), Decimal("0.015"), Decimal("0.375056"))
    assert entry.charged_at == fresh(checkout).paid_at
    assert fresh(checkout).amount_received == Decimal("25.003700")


def test_test_mode_costs_nothing() -> None:
    checkout = make_checkout(mode=Mode.TEST)
    pay(checkout)
    assert status_of(checkout) == CheckoutStatus.COMPLETED
    assert not FeeEntry.objects.exists()


def test_what_is_not_paid_in_full_costs_nothing() -> None:
    checkout, _ = in_status(CheckoutStatus.UNDERPAID)
    in_status(CheckoutStatus.PROCESSING)
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=SOON)
    assert not FeeEntry.objects.exists()


def test_the_network_of_the_last_payment_is_that_of_the_fee() -> None:
    checkout, _ = in_status(CheckoutStatus.UNDERPAID)
    rest = Watcher("polygon")
    rest.sees(checkout, 15 * DOLLAR, token="USDT")
    rest.confirms()
    attribute()
    entry = FeeEntry.objects.get()
    assert (entry.chain, entry.token) == ("polygon", "USDT")
    assert entry.received == Decimal("25.000000")


def test_a_batch_is_charged_in_one_statement_and_an_idle_one_in_none() -> None:
    checkouts, watcher = [make_checkout() for _ in range(3)], Watcher()
    watcher.records([watcher.transfer_to(checkout) for checkout in checkouts])
    assert _statements() == 0
    watcher.confirms()
    assert _statements() == 1
    assert FeeEntry.objects.count() == 3


def _statements() -> int:
    with CaptureQueriesContext(connection) as asked:
        attribute()
    return sum("feeentry" in query["sql"] for query in asked.captured_queries)


def test_a_fee_is_given_back_while_the_network_has_taken_the_money() -> None:
    checkout, watcher, transfer = reversed_checkout()
    entry = fee_of(checkout)
    assert entry is not None
    lost, found = (SOON + timedelta(hours=number) for number in (1, 2))
    fee = Decimal("0.375")
    assert booked(checkout.public_id) == [(SOON, fee), (lost, -fee)]
    merchant = checkout.merchant
    merchant.fee_tier, merchant.fee_rate = FeeTier.GROWTH, Decimal("0.01")
    merchant.save()
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute(now=SOON + timedelta(hours=2))
    assert fresh(checkout).exception == CheckoutException.NONE
    assert booked(checkout.public_id) == [(SOON, fee), (lost, -fee), (found, fee)]
    assert set(FeeEntry.objects.values_list("rate", flat=True)) == {Decimal("0.015")}


def test_a_checkout_that_completes_reversed_costs_nothing_yet() -> None:
    checkout, watcher = in_status(CheckoutStatus.UNDERPAID)
    watcher.loses(checkout.payments.get().transfer)
    attribute()
    pay(checkout)
    assert fresh(checkout).exception == CheckoutException.REVERSED
    entry = fee_of(checkout)
    assert entry is not None
    assert booked(checkout.public_id) == [(entry.charged_at, entry.amount), (entry.charged_at, -entry.amount)]
