"""Refunds that were sent already: one that was asked for here as well, or that a reorg takes back, is not left to be paid once more."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import User
from accounts.states import Mode
from checkouts.models import Checkout
from gateway.core.api.errors import ConflictError
from payouts.following.sent import _may_give_back, name_transaction, record_sent
from payouts.following.service import COOLING, follow_movements, recheck_payouts
from payouts.lifecycle.service import cancel_payout
from payouts.lifecycle.sources import Source
from payouts.models import Payout, PayoutSurplus
from payouts.outflows.lost_outflows import seem_paid
from payouts.states import PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON, make_user
from tests.payouts.factories import BUYER, approved, make_paid, make_payout, outflow_for, refund_of, status_of
from tests.wallets.transfers.told import told_transfer
from wallets.chains.base import TokenTransfer
from wallets.models import Transfer, WatchedMovement, WatchedWallet
from wallets.states import Direction
from wallets.transfers.movements import NewMovement, answer_for_movements, orphan_movements, record_movements

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(minutes=5)


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """The test follows by hand."""
    settings.MOVEMENT_CONSUMERS = []


@pytest.fixture
def teller() -> User:
    return make_user()


def told(**block: Any) -> TokenTransfer:
    """5 USDC to the buyer, as its chain tells it."""
    values: dict[str, Any] = {"block_height": 9, "block_time": LATER} | block
    return told_transfer(tx_hash="0x5e", recipient=BUYER, units=5 * DOLLAR, **values)


def record(checkout: Checkout, teller: User) -> Payout:
    """Say that 5 USDC were sent back to the buyer of a checkout."""
    source = Source(checkout=checkout.public_id)
    return record_sent(checkout.merchant, told(), mode=Mode.LIVE, source=source, now=LATER, actor=Actor(teller))


@pytest.mark.parametrize(
    ("came", "sent", "may"),
    [("USDC", "USDT", True), ("EURC", "EURC", True), ("EURC", "USDC", False), ("USDC", "EURC", False)],
)
def test_money_is_given_back_in_its_own_token_or_in_another_of_as_many_dollars(came: str, sent: str, may: bool) -> None:
    brought = Transfer(chain="polygon", token=came, tx_hash="0x5d", block_time=NOON)
    assert _may_give_back(told(chain="polygon", token=sent), [brought]) == may


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


def taken_back(teller: User) -> Payout:
    """A refund that was recorded, and whose transaction a reorg removed before it was final."""
    payout = record(make_paid(), teller)
    orphan_movements("base", 0, now=LATER)
    follow_movements(now=LATER)
    return payout


def test_one_that_a_reorg_takes_back_is_waited_for_and_paid_once_it_returns(teller: User) -> None:
    payout = taken_back(teller)
    for _ in range(2):
        recheck_payouts(now=LATER)
        follow_movements(now=LATER)
    assert status_of(payout) == PayoutStatus.SENDING
    gone = WatchedMovement.objects.get()
    again = told(block_height=10, block_hash="0xother", block_time=LATER + timedelta(seconds=9))
    record_movements([NewMovement(gone.wallet_id, gone.merchant_id, Direction.IN, again)], now=LATER)
    follow_movements(now=LATER)
    assert answer_for_movements([WatchedMovement.objects.get()], now=LATER) == 1
    follow_movements(now=LATER)
    assert status_of(payout) == PayoutStatus.PAID


def test_a_named_transaction_of_a_payout_is_waited_for_while_a_reorg_has_it(teller: User) -> None:
    """It left a wallet that is not watched, so that no rule would find it again, and the payout would be paid once more."""
    payout = approved(make_payout())
    name_transaction(payout, told(), actor=Actor(teller), now=LATER)
    orphan_movements("base", 0, now=LATER)
    for _ in range(2):
        follow_movements(now=LATER)
        recheck_payouts(now=LATER)
    payout.refresh_from_db()
    assert (payout.status, payout.movement) == (PayoutStatus.SENDING, WatchedMovement.objects.get())
    gone = WatchedMovement.objects.get()
    again = told(block_height=10, block_hash="0xother", block_time=LATER + timedelta(seconds=9))
    record_movements([NewMovement(gone.wallet_id, gone.merchant_id, Direction.IN, again)], now=LATER)
    follow_movements(now=LATER)
    assert answer_for_movements([WatchedMovement.objects.get()], now=LATER) == 1
    follow_movements(now=LATER)
    assert status_of(payout) == PayoutStatus.PAID


def test_of_a_payout_no_older_transaction_is_named_and_none_of_one_that_is_paid(teller: User) -> None:
    payout = approved(make_payout())
    older = told(block_time=NOON - timedelta(minutes=2))
    with pytest.raises(ConflictError, match="must not be older"):
        name_transaction(payout, older, actor=Actor(teller), now=LATER)
    outflow_for(payout, tx_hash="0xother", block_time=LATER, queued_at=LATER)
    follow_movements(now=LATER)
    with pytest.raises(ConflictError) as refused:
        name_transaction(payout, told(), actor=Actor(teller), now=LATER)
    assert refused.value.code == "state_conflict"


def test_one_that_does_not_return_can_be_paid_or_cancelled_after_a_day(teller: User) -> None:
    payout, later = taken_back(teller), LATER + COOLING + timedelta(seconds=1)
    recheck_payouts(now=later)
    follow_movements(now=later)
    recheck_payouts(now=later)
    assert status_of(payout) == PayoutStatus.APPROVED
    assert cancel_payout(payout, now=later).status == PayoutStatus.CANCELLED


def test_another_transaction_may_take_the_place_of_one_that_is_gone(teller: User) -> None:
    payout = taken_back(teller)
    other = outflow_for(payout, block_time=LATER, queued_at=LATER)
    follow_movements(now=LATER)
    payout.refresh_from_db()
    assert (payout.status, payout.movement, payout.exception) == (PayoutStatus.PAID, other, "")
    assert not PayoutSurplus.objects.exists()


def test_what_was_recorded_is_no_payment_of_another_once_its_wallet_is_watched(teller: User) -> None:
    checkout = make_paid()
    twin = approved(make_payout(checkout.merchant))
    record(checkout, teller)
    outflow_for(twin, tx_hash="0x5e", block_time=LATER)
    assert seem_paid([twin]) == []
    assert cancel_payout(twin, now=LATER).status == PayoutStatus.CANCELLED
