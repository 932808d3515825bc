"""What a wallet sends before anybody approved the payout that it fits, to a recipient who got as much before."""

from datetime import timedelta
from typing import Any

import pytest

from payouts.following.service import follow_movements, recheck_payouts
from payouts.lifecycle.service import cancel_payout, set_address
from payouts.models import Payout, PayoutSurplus
from payouts.states import AddressBy, PayoutException, PayoutStatus
from tests.factories import NOON
from tests.payouts.factories import OTHER_BUYER, approved, make_payout
from tests.payouts.test_following import LATER, Till

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """The test follows by hand."""
    settings.MOVEMENT_CONSUMERS = []


def wages() -> tuple[Till, Payout]:
    """A recipient whose first wage is paid, and a second one that was sent from the wallet before anybody approved it."""
    till = Till(approved(make_payout()))
    till.send()
    assert till.confirm().status == PayoutStatus.PAID
    second = make_payout(till.payout.merchant)
    till.send(block_time=LATER + timedelta(minutes=1))
    till.confirm()
    return till, second


def surplus_after_another_look(till: Till) -> int:
    follow_movements(now=LATER)
    till.now()
    return PayoutSurplus.objects.filter(payout=till.payout).count()


def test_it_is_no_second_send_of_the_first_and_pays_once_approved() -> None:
    till, second = wages()
    assert (till.now().exception, PayoutSurplus.objects.count()) == (PayoutException.NONE, 0)
    approved(second)
    assert recheck_payouts(now=LATER) == 1
    follow_movements(now=LATER)
    second.refresh_from_db()
    assert (second.status, till.now().exception) == (PayoutStatus.PAID, PayoutException.NONE)


def test_of_two_sends_one_pays_and_the_other_is_reported() -> None:
    till, second = wages()
    till.send(block_time=LATER + timedelta(minutes=2))
    till.confirm()
    assert not PayoutSurplus.objects.exists()
    approved(second)
    assert recheck_payouts(now=LATER) == 2
    follow_movements(now=LATER)
    second.refresh_from_db()
    assert (second.status, PayoutSurplus.objects.count()) == (PayoutStatus.PAID, 1)


def test_it_is_a_second_send_if_the_payout_is_cancelled() -> None:
    till, second = wages()
    cancel_payout(second, now=LATER)
    assert surplus_after_another_look(till) == 1
    assert till.payout.exception == PayoutException.PAID_TWICE


def test_it_is_a_second_send_if_the_payout_goes_elsewhere() -> None:
    till, second = wages()
    set_address(second, address=OTHER_BUYER, by=AddressBy.PERSON, now=LATER)
    assert surplus_after_another_look(till) == 1


def test_a_payout_that_is_asked_for_later_hides_no_second_send() -> None:
    till = Till(approved(make_payout()))
    till.send()
    till.confirm()
    Payout.objects.filter(pk=make_payout(till.payout.merchant).pk).update(created_at=NOON + timedelta(hours=1))
    till.send()
    till.confirm()
    assert till.payout.exception == PayoutException.PAID_TWICE
