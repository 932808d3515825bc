"""What endpoints hear of refunds and payouts that chose to: each turn as it is committed, and nobody else."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import InboxItem
from checkouts.states import InboxReason
from gateway.core.restores import Restore
from payouts.approvals.service import recheck_approval
from payouts.following.service import accept_lost_outflow, follow_movements, recheck_payouts
from payouts.lifecycle.service import CLAIM_SPAN, cancel_payout, cancel_sourceless, expire_claims, set_address
from payouts.models import Payout
from payouts.selectors import payout_named, payout_objects
from payouts.states import AddressBy, PayoutScenario, PayoutStatus
from payouts.testmode import TICK, plan_outflow, play_outflows
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON, body_of, make_merchant
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
from tests.wallets.days import make_watched
from tests.webhooks.listed.test_publishing import listed
from wallets.models import Transfer, WatchedMovement
from wallets.states import TransferState
from wallets.transfers.movements import queue_movements
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db
CHOSEN = "https://books.example/"
LATER = NOON + timedelta(minutes=5)
TYPES = [name for name in settings.WEBHOOK_OPT_IN_TYPES if name.startswith(("refund.", "payout."))]


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """The test follows by hand."""
    settings.MOVEMENT_CONSUMERS = []


def choosing(*types: str, mode: Mode = Mode.LIVE) -> Merchant:
    """A merchant with an endpoint that chose types, those of refunds and payouts if none is named."""
    merchant = make_merchant()
    listed(merchant, CHOSEN, *(types or TYPES), mode=mode)
    return merchant


def events() -> "QuerySet[Event]":
    """The events to choose, in the order of their numbers."""
    return Event.objects.filter(type__in=settings.WEBHOOK_OPT_IN_TYPES).order_by("sequence")


def told() -> list[str]:
    """The types of the events, each with one delivery."""
    assert Delivery.objects.filter(endpoint__url=CHOSEN).count() == events().count()
    return list(events().values_list("type", flat=True))


def bodies() -> list[dict[str, Any]]:
    return [body_of(bytes(body)) for body in events().values_list("body", flat=True)]


def follow(movement: WatchedMovement, state: TransferState = TransferState.CONFIRMED) -> None:
    times = {"orphaned_at": LATER if state == TransferState.ORPHANED else None}
    WatchedMovement.objects.filter(pk=movement.pk).update(state=state, **times)
    queue_movements([movement.pk], now=LATER)
    follow_movements(now=LATER)


def test_a_refund_is_told_from_its_address_to_its_payment() -> None:
    checkout = make_paid(choosing())
    payout = refund_of(checkout, 5 * DOLLAR).payout
    assert told() == []
    set_address(payout, address=BUYER, by=AddressBy.CLAIM, now=NOON)
    payout.refresh_from_db()
    follow(outflow_for(approved(payout)))
    assert told() == ["refund.claimed", "refund.approved", "refund.paid"]
    first, _, last = bodies()
    assert [first["data"]["status"], last["data"]["status"]] == ["requested", "paid"]
    [shown] = payout_objects([payout_named(payout.merchant_id, Mode.LIVE, payout.public_id)], shows_claims=False)
    assert last["data"] == shown | {"metadata": {}}
    assert {body["checkout_id"] for body in bodies()} == {checkout.public_id}


def test_whoever_reads_an_event_may_not_say_where_the_money_goes() -> None:
    asked = refund_of(make_paid(choosing()))
    set_address(asked.payout, address=BUYER, by=AddressBy.CLAIM, now=NOON)
    [event] = events()
    assert bodies()[0]["data"]["claim_url"] is None
    assert asked.code.encode() not in bytes(event.body)


def test_one_that_a_lost_time_paid_is_told_as_paid() -> None:
    """A person says which outflow of the lost time it is: no bell rings for that one any more."""
    merchant = choosing("refund.paid", "inbox.closed")
    checkout = make_paid(merchant)
    transfer = checkout.payments.get().transfer
    facts = {"merchant": merchant, "mode": checkout.mode, "transfer": transfer, "created_at": NOON}
    InboxItem.objects.create(reason=InboxReason.EXTRA, **facts)
    payout = refund_of(checkout, address=BUYER).payout
    hour = timedelta(hours=1)
    Restore.objects.create(lost_from=NOON - 2 * hour, restored_at=NOON - hour, amounts_until=NOON, unread=[])
    outflow = outflow_for(payout, block_time=NOON - 1.5 * hour)
    accept_lost_outflow(payout, outflow, actor=Actor(make_approver(merchant)), now=LATER)
    assert status_of(payout) == PayoutStatus.PAID
    assert told() == ["refund.paid", "inbox.closed"]


def test_a_payout_has_no_checkout() -> None:
    payout = make_payout(choosing(), address="")
    set_address(payout, address=BUYER, by=AddressBy.CLAIM, now=NOON)
    cancel_payout(payout, now=NOON)
    assert told() == ["payout.claimed", "payout.ended"]
    assert [(body["checkout_id"], body["data"]["status"]) for body in bodies()] == [
        ("", "requested"),
        ("", "cancelled"),
    ]


def test_each_address_is_told_and_one_that_was_there_is_not() -> None:
    payout = make_payout(choosing(), address="")
    for address in (BUYER, BUYER, OTHER_BUYER):
        set_address(payout, address=address, by=AddressBy.CLAIM, now=NOON)
    assert told() == ["payout.claimed"] * 2
    set_address(payout, address=BUYER, by=AddressBy.API, now=NOON)
    assert told() == ["payout.claimed"] * 2


def test_it_is_approved_when_enough_people_did_and_again_after_an_approval_was_void() -> None:
    merchant = choosing("payout.approved")
    merchant.payout_approvals, merchant.payout_second_above = 2, 0
    merchant.save()
    payout = approved(make_payout(merchant))
    assert told() == []
    second = make_approver(merchant)
    approved(payout, second)
    second.memberships.all().delete()
    recheck_approval(payout, now=NOON)
    approved(payout, make_approver(merchant))
    assert status_of(payout) == PayoutStatus.APPROVED
    assert told() == ["payout.approved"] * 2


def test_a_reorg_after_it_was_final_is_told_and_its_return_too() -> None:
    payout = approved(make_payout(choosing("payout.paid", "payout.reversed")))
    movement = outflow_for(payout)
    follow(movement)
    follow(movement)
    follow(movement, TransferState.ORPHANED)
    follow(movement, TransferState.ORPHANED)
    follow(movement)
    assert told() == ["payout.paid", "payout.reversed", "payout.paid"]
    assert [body["data"]["exception"] for body in bodies()] == [None, "reversed", None]


def test_what_is_seen_and_not_final_is_not_told() -> None:
    payout = approved(make_payout(choosing("payout.paid", "payout.reversed")))
    movement = outflow_for(payout)
    follow(movement, TransferState.DETECTED)
    assert status_of(payout) == PayoutStatus.SENDING
    follow(movement, TransferState.ORPHANED)
    assert told() == []


def test_the_item_of_money_that_went_back_is_closed_with_the_payment_that_closed_it() -> None:
    checkout = make_paid(choosing("refund.paid", "inbox.closed"))
    transfer = checkout.payments.get().transfer
    facts = {"merchant": checkout.merchant, "mode": checkout.mode, "transfer": transfer, "created_at": NOON}
    InboxItem.objects.create(reason=InboxReason.EXTRA, **facts)
    follow(outflow_for(approved(refund_of(checkout, address=BUYER).payout)))
    assert told() == ["refund.paid", "inbox.closed"]
    assert bodies()[1]["data"]["outcome"] == "refunded"


def test_an_item_that_was_locked_then_is_closed_and_told_later() -> None:
    checkout = make_paid(choosing("inbox.closed"))
    transfer = checkout.payments.get().transfer
    follow(outflow_for(approved(refund_of(checkout, address=BUYER).payout)))
    facts = {"merchant": checkout.merchant, "mode": checkout.mode, "transfer": transfer, "created_at": NOON}
    InboxItem.objects.create(reason=InboxReason.EXTRA, **facts)
    recheck_payouts(now=LATER)
    recheck_payouts(now=LATER)
    assert told() == ["inbox.closed"]


def _cancel(payout: Payout) -> None:
    cancel_payout(payout, now=NOON)
    cancel_payout(payout, now=NOON)


def _expire(payout: Payout) -> None:
    expire_claims(now=NOON + CLAIM_SPAN)


def _lose(payout: Payout) -> None:
    Transfer.objects.update(state=TransferState.ORPHANED)
    cancel_sourceless(now=NOON)


@pytest.mark.parametrize(("end", "status"), [(_cancel, "cancelled"), (_expire, "expired"), (_lose, "cancelled")])
def test_its_end_is_told_once(end: Callable[[Payout], None], status: str) -> None:
    payout = refund_of(make_paid(choosing())).payout
    end(payout)
    assert told() == ["refund.ended"]
    assert bodies()[0]["data"]["status"] == status


def test_in_test_mode_what_is_played_is_told() -> None:
    merchant = choosing("payout.paid", mode=Mode.TEST)
    payout = make_payout(merchant)
    Payout.objects.filter(pk=payout.pk).update(mode=Mode.TEST)
    payout.refresh_from_db()
    plan_outflow(approved(payout), make_watched(merchant, mode="test"), scenario=PayoutScenario.PAID, now=NOON)
    play_outflows(now=NOON + 2 * TICK)
    assert told() == ["payout.paid"]
    assert bodies()[0]["livemode"] is False


def test_where_nobody_chose_nothing_is_read_or_written() -> None:
    payout = approved(make_payout(choosing("inbox.opened")))
    movement = outflow_for(payout)
    with CaptureQueriesContext(connection) as asked:
        follow(movement)
    assert status_of(payout) == PayoutStatus.PAID
    assert told() == []
    assert not [query for query in asked if "webhooks_eventcounter" in query["sql"]]
