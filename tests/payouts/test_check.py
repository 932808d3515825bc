"""The daily comparison of refunds with their sources, and with what is kept of them."""

import pytest
from django.db.models import F

from payouts.following.check import check_payouts
from payouts.lifecycle.service import cancel_payout, conclude_payout
from payouts.models import PayoutSource
from payouts.states import PayoutException
from tests.checkouts.watcher import DOLLAR, SOON
from tests.factories import NOON
from tests.payouts.factories import BUYER, approved, make_paid, make_payout, outflow_for, refund_of
from wallets.models import TransferReturn

pytestmark = pytest.mark.django_db


def test_whatever_becomes_of_refunds_nothing_differs() -> None:
    checkout = make_paid()
    cancel_payout(refund_of(checkout, 2 * DOLLAR).payout, now=NOON)
    paid = approved(refund_of(checkout, 3 * DOLLAR, address=BUYER).payout)
    conclude_payout(paid, outflow_for(paid), now=SOON)
    less = approved(refund_of(checkout, 4 * DOLLAR, address=BUYER).payout)
    refund_of(make_paid())
    make_payout()
    assert check_payouts() == 0
    conclude_payout(less, outflow_for(less, DOLLAR), now=SOON, exception=PayoutException.WRONG_AMOUNT)
    assert check_payouts() == 0


def test_sources_that_do_not_add_up_are_told() -> None:
    refund_of(make_paid())
    PayoutSource.objects.update(units=F("units") - 1)
    assert check_payouts() == 2


@pytest.mark.parametrize("change", [{"reserved": F("reserved") - 1}, {"returned": 1}])
def test_a_promise_that_no_refund_makes_is_told(change: dict[str, object]) -> None:
    refund_of(make_paid(), 5 * DOLLAR)
    TransferReturn.objects.update(**change)
    assert check_payouts() == 1


def test_a_promise_that_is_lost_is_told() -> None:
    refund_of(make_paid(), 5 * DOLLAR)
    TransferReturn.objects.all().delete()
    assert check_payouts() == 1
