"""After a restore a price alone proves nothing: the checkout that is meant may be lost."""

from datetime import timedelta

import pytest

from checkouts.states import InboxReason
from gateway.core.restores import Restore
from tests.checkouts.arrivals import exact, inbox_item, payer_of
from tests.checkouts.watcher import DOLLAR, SOON, attribute

pytestmark = pytest.mark.django_db


def restore_lost(hours: int) -> None:
    """A restore lost so many hours up to now."""
    Restore.objects.create(lost_from=SOON - timedelta(hours=hours), restored_at=SOON, amounts_until=SOON)


def test_a_price_alone_proves_nothing_while_a_lost_checkout_may_be_paid(till):
    till.checkout()
    restore_lost(hours=1)
    transfer = till.sees(25 * DOLLAR)
    attribute()
    assert payer_of(transfer) is None
    assert inbox_item(transfer).reason == InboxReason.AMBIGUOUS


def test_an_exact_amount_still_names_its_checkout_then(till):
    wanted = till.checkout(suffix=3_700)
    restore_lost(hours=1)
    transfer = till.sees(exact(wanted))
    attribute()
    assert payer_of(transfer) == wanted


def test_a_price_is_enough_outside_of_the_lost_time(till):
    wanted = till.checkout()
    Restore.objects.create(lost_from=SOON - timedelta(days=3), restored_at=SOON - timedelta(days=2), amounts_until=SOON)
    transfer = till.sees(25 * DOLLAR)
    attribute()
    assert payer_of(transfer) == wanted
