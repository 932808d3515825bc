"""Refunds that were sent already: one that was asked for here as well is not left to be paid once more."""

from datetime import timedelta

import pytest

from accounts.audit.actors import Actor
from accounts.models import User
from accounts.states import Mode
from checkouts.models import Checkout
from gateway.core.api.errors import ConflictError
from payouts.following.sent import record_sent
from payouts.lifecycle.service import cancel_payout
from payouts.lifecycle.sources import Source
from payouts.models import Payout
from payouts.states import PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON, make_user
from tests.payouts.factories import BUYER, approved, make_paid, make_payout, refund_of
from tests.wallets.transfers.told import told_transfer
from wallets.models import WatchedWallet

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(minutes=5)


@pytest.fixture
def teller() -> User:
    return make_user()


def record(checkout: Checkout, teller: User) -> Payout:
    """Say that 5 USDC were sent back to the buyer of a checkout."""
    sent = told_transfer(tx_hash="0x5e", recipient=BUYER, units=5 * DOLLAR, block_height=9, block_time=LATER)
    source = Source(checkout=checkout.public_id)
    return record_sent(checkout.merchant, sent, mode=Mode.LIVE, source=source, now=LATER, actor=Actor(teller))


def test_what_a_refund_waits_for_is_not_recorded_beside_it(teller: User) -> None:
    checkout = make_paid()
    asked = approved(refund_of(checkout, 5 * DOLLAR, address=BUYER).payout)
    with pytest.raises(ConflictError, match=asked.public_id):
        record(checkout, teller)
    assert not WatchedWallet.objects.exists()
    cancel_payout(asked, now=LATER)
    assert record(checkout, teller).status == PayoutStatus.SENDING


def test_as_much_that_is_owed_to_the_buyer_for_something_else_stops_nothing(teller: User) -> None:
    checkout = make_paid()
    approved(make_payout(checkout.merchant))
    approved(refund_of(make_paid(checkout.merchant), 5 * DOLLAR, address=BUYER).payout)
    assert record(checkout, teller).status == PayoutStatus.SENDING
