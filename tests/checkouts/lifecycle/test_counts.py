"""How many checkouts each merchant and mode has of each status."""

import pytest
from django.db import transaction

from accounts.states import Mode
from checkouts.lifecycle.moves import expire
from checkouts.lifecycle.totals import fold_totals
from checkouts.models import Checkout, CheckoutCount
from checkouts.states import CheckoutStatus
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute
from tests.factories import checkout_counts, make_checkout, make_merchant

pytestmark = pytest.mark.django_db

EXPIRED = CheckoutStatus.EXPIRED


def test_the_counts_follow_every_move():
    merchant = make_merchant()
    paid, short, idle, seen = (make_checkout(merchant) for _ in range(4))
    assert checkout_counts(merchant) == {"pending": 4}
    watcher = Watcher()
    watcher.sees(paid)
    watcher.sees(short, 3 * DOLLAR)
    watcher.confirms()
    watcher.sees(seen)
    attribute()
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=idle.pk)), now=SOON)
    assert checkout_counts(merchant) == {"completed": 1, "underpaid": 1, "expired": 1, "processing": 1}
    watcher.loses(seen.payments.get().transfer)
    attribute()
    assert checkout_counts(merchant)["pending"] == 1
    assert "processing" not in checkout_counts(merchant)


def test_counts_are_kept_apart_by_merchant_and_mode():
    ours, theirs = make_merchant(), make_merchant()
    mine, yours = make_checkout(ours), make_checkout(theirs)
    trial = make_checkout(ours, mode=Mode.TEST)
    watcher = Watcher()
    watcher.sees(mine)
    watcher.sees(yours, 3 * DOLLAR)
    watcher.confirms()
    attribute()
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=trial.pk)), now=SOON)
    assert checkout_counts(ours) == {"completed": 1}
    assert checkout_counts(ours, Mode.TEST) == {"expired": 1}
    assert checkout_counts(theirs) == {"underpaid": 1}


def test_counts_are_folded_without_being_changed():
    merchant = make_merchant()
    checkouts = [make_checkout(merchant) for _ in range(3)]
    for checkout in checkouts:
        with transaction.atomic():
            expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=SOON)
    rows = CheckoutCount.objects.filter(merchant=merchant, status=EXPIRED)
    assert list(rows.values_list("value", "is_sum")) == [(1, False)] * 3
    assert checkout_counts(merchant) == {"expired": 3}
    fold_totals()
    assert list(rows.values_list("value", "is_sum")) == [(3, True)]
    assert checkout_counts(merchant) == {"expired": 3}
    assert fold_totals() == 0
