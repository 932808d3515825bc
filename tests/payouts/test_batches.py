"""Batches: what is handed out to one wallet, and when it is handed out no more."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings as configured

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Membership, Merchant, User
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from mails.models import OutgoingMail
from payouts.batches.service import Wanted, batch_order, cancel_batch, close_batches, make_batch
from payouts.following.service import follow_movements
from payouts.lifecycle.service import conclude_payout
from payouts.models import Payout, PayoutBatch
from payouts.states import BatchStatus, Method, PayoutStatus
from tests.factories import NOON, WALLET, make_live_chain
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    approved,
    make_approver,
    make_paid,
    make_payout,
    outflow_for,
    refund_of,
    status_of,
)
from wallets import selectors
from wallets.models import ChainCursor, Transfer, WatchedWallet
from wallets.states import TransferState

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(hours=configured.PAYOUT_COOLING_HOURS)


@pytest.fixture(autouse=True)
def _read_chains(local_nodes: None) -> None:
    """Base has a node."""


@pytest.fixture
def person(merchant: Merchant) -> User:
    """An owner who approves and pays."""
    return make_approver(merchant)


@pytest.fixture
def two(merchant: Merchant, person: User) -> list[Payout]:
    """Two approved payouts of 5 and 7 USDC."""
    made = [make_payout(merchant), make_payout(merchant, 7_000_000, address=OTHER_BUYER)]
    return [approved(payout, person) for payout in made]


def hand_out(payouts: list[Payout], person: User, method: Method = Method.LIST, **values: Any) -> PayoutBatch:
    wanted = Wanted([payout.public_id for payout in payouts], values.pop("wallet", WALLET), method)
    merchant = values.pop("merchant", payouts[0].merchant)
    return make_batch(merchant, Mode.LIVE, wanted, actor=Actor(person), now=NOON)


def read_until(when: datetime) -> None:
    """Base was read up to a moment."""
    values = {"height": 100, "head": 100, "head_at": when, "head_time": when, "read_through_at": when}
    ChainCursor.objects.update_or_create(chain="base", defaults=values)
    selectors.forget()


def test_approved_payouts_are_frozen_and_owners_told(two: list[Payout], person: User) -> None:
    batch = hand_out(two, person, Method.CALLS)
    assert [status_of(payout) for payout in two] == [PayoutStatus.SENDING] * 2
    assert set(batch.payouts.all()) == set(two)
    order = batch_order(batch)
    assert {(line.address, line.units) for line in order.lines} == {(BUYER, 5_000_000), (OTHER_BUYER, 7_000_000)}
    assert order.digest() == bytes(batch.digest).hex()
    assert batch.valid_until is None
    assert WatchedWallet.objects.get(address=WALLET).payout_batches.get() == batch
    entry = AuditEntry.objects.get(action="payout_batch.made")
    assert (entry.actor, entry.object_id) == (person, batch.public_id)
    assert entry.after is not None
    assert entry.after["amount"] == "12.000000"
    mail = OutgoingMail.objects.get(recipient=person.email)
    assert bytes(batch.digest).hex()[:8] in mail.text
    assert WALLET in mail.text


def test_the_list_stays_as_it_was_frozen(two: list[Payout], person: User) -> None:
    batch = hand_out(two, person)
    before = batch_order(batch).csv()
    Payout.objects.update(address=WALLET, units=1)
    assert batch_order(batch).csv() == before


def test_a_payout_is_in_one_batch(two: list[Payout], person: User) -> None:
    first = hand_out(two[:1], person)
    with pytest.raises(ConflictError):
        hand_out(two, person)
    assert PayoutBatch.objects.get() == first
    assert status_of(two[1]) == PayoutStatus.APPROVED


def test_what_is_not_approved_is_not_handed_out(merchant: Merchant, person: User) -> None:
    with pytest.raises(ConflictError):
        hand_out([make_payout(merchant)], person)


def test_an_approval_of_somebody_who_left_is_void(merchant: Merchant, person: User) -> None:
    leaver = make_approver(merchant)
    payout = approved(make_payout(merchant), leaver)
    Membership.objects.filter(user=leaver).delete()
    with pytest.raises(ConflictError):
        hand_out([payout], person)
    assert status_of(payout) == PayoutStatus.REQUESTED


def test_a_refund_of_money_that_is_gone_or_in_doubt_is_not_handed_out(merchant: Merchant, person: User) -> None:
    payout = approved(refund_of(make_paid(merchant), 5_000_000, address=BUYER).payout, person)
    Transfer.objects.update(state=TransferState.ORPHANED)
    with pytest.raises(ConflictError, match="took back"):
        hand_out([payout], person)
    Transfer.objects.update(state=TransferState.CONFIRMED)
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    with pytest.raises(ConflictError, match="may be lost"):
        hand_out([payout], person)
    assert status_of(payout) == PayoutStatus.APPROVED
    make_live_chain("base", halted_reason="", doubted_above=None)
    hand_out([payout], person)
    assert status_of(payout) == PayoutStatus.SENDING


def test_what_seems_paid_is_followed_and_not_handed_out(two: list[Payout], person: User) -> None:
    outflow_for(two[0])
    with pytest.raises(ConflictError, match="seems to have paid"):
        hand_out(two, person)
    follow_movements(now=NOON)
    assert [status_of(payout) for payout in two] == [PayoutStatus.PAID, PayoutStatus.APPROVED]


def test_another_merchants_payout_does_not_exist(two: list[Payout], person: User) -> None:
    strange = approved(make_payout())
    with pytest.raises(InvalidRequestError):
        hand_out([*two, strange], person, merchant=two[0].merchant)
    assert not PayoutBatch.objects.exists()
    assert status_of(strange) == PayoutStatus.APPROVED


def test_a_batch_has_one_network_and_one_token(two: list[Payout], person: User) -> None:
    other = approved(make_payout(two[0].merchant, chain="polygon", token="USDT"), person)
    with pytest.raises(InvalidRequestError, match="one token"):
        hand_out([*two, other], person)


@pytest.mark.parametrize(
    ("wallet", "method", "words"),
    [
        (BUYER, Method.LIST, "cannot pay itself"),
        ("0x1234", Method.LIST, "address"),
        (WALLET, Method.TRANSACTION, "cannot be asked"),
    ],
)
def test_what_no_wallet_can_pay_is_refused(
    wallet: str, method: Method, words: str, two: list[Payout], person: User
) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        hand_out(two, person, method, wallet=wallet)
    assert not PayoutBatch.objects.exists()
    assert [status_of(payout) for payout in two] == [PayoutStatus.APPROVED] * 2


def test_where_nobody_would_see_it_paid_nothing_is_handed_out(two: list[Payout], person: User, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    with pytest.raises(ConflictError, match="not read"):
        hand_out(two, person)


@pytest.mark.parametrize("method", [Method.LIST, Method.SAFE])
def test_payouts_of_a_cancelled_batch_are_locked_until_it_cooled_and_its_chain_was_read_past_that(
    method: Method, two: list[Payout], person: User
) -> None:
    batch = cancel_batch(hand_out(two, person, method), actor=Actor(person), now=NOON)
    assert (batch.status, batch.cooling_until) == (BatchStatus.CANCELLED, LATER)
    read_until(LATER - timedelta(seconds=1))
    assert close_batches(now=LATER - timedelta(seconds=1)) == 0
    assert close_batches(now=LATER) == 0
    assert [status_of(payout) for payout in two] == [PayoutStatus.SENDING] * 2
    read_until(LATER)
    assert close_batches(now=LATER) == 1
    assert [status_of(payout) for payout in two] == [PayoutStatus.APPROVED] * 2
    batch.refresh_from_db()
    assert batch.status == BatchStatus.CLOSED
    assert hand_out(two, person).pk != batch.pk


def test_a_payout_that_was_seen_meanwhile_is_not_freed(two: list[Payout], person: User) -> None:
    batch = cancel_batch(hand_out(two, person), actor=Actor(person), now=NOON)
    movement = outflow_for(two[0])
    Payout.objects.filter(pk=two[0].pk).update(movement=movement)
    read_until(LATER)
    assert close_batches(now=LATER) == 0
    assert [status_of(payout) for payout in two] == [PayoutStatus.SENDING, PayoutStatus.APPROVED]
    conclude_payout(two[0], movement, now=LATER)
    assert close_batches(now=LATER) == 1
    batch.refresh_from_db()
    assert batch.status == BatchStatus.CLOSED


def test_a_batch_is_closed_once_all_of_it_is_paid(two: list[Payout], person: User) -> None:
    batch = hand_out(two, person)
    assert close_batches(now=NOON) == 0
    for payout in two:
        conclude_payout(payout, outflow_for(payout), now=NOON)
    assert close_batches(now=NOON) == 1
    batch.refresh_from_db()
    assert (batch.status, batch.closed_at) == (BatchStatus.CLOSED, NOON)
    with pytest.raises(ConflictError):
        cancel_batch(batch, actor=Actor(person), now=NOON)
