"""The contract's table of status moves, row by row, and what goes with each move."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from checkouts.errors import IllegalMoveError
from checkouts.lifecycle.moves import EVENT_OF, expire
from checkouts.models import Checkout, InboxItem
from checkouts.states import FINAL, LIVE, CheckoutException, CheckoutStatus, InboxReason, InboxStatus
from tests.checkouts.schema import alter
from tests.checkouts.watcher import (
    DOLLAR,
    SOON,
    Watcher,
    attribute,
    credited,
    events_of,
    fresh,
    in_status,
    inbox_of,
    last_body,
    pay,
    received,
    shown,
    shown_bytes,
    status_of,
)
from tests.factories import make_checkout, make_merchant
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db


PENDING = CheckoutStatus.PENDING
PROCESSING = CheckoutStatus.PROCESSING
UNDERPAID = CheckoutStatus.UNDERPAID
COMPLETED = CheckoutStatus.COMPLETED
EXPIRED = CheckoutStatus.EXPIRED


# Row 1: seen money reaches the amount less the tolerance, some of it not yet final.


@pytest.mark.parametrize(("status", "missing"), [(PENDING, 25), (UNDERPAID, 15)])
def test_enough_money_seen_is_processing_and_tells_nobody(status, missing):
    checkout, watcher = in_status(status)
    told = events_of(checkout)
    watcher.sees(checkout, missing * DOLLAR)
    attribute()
    assert status_of(checkout) == PROCESSING
    assert events_of(checkout) == told
    assert fresh(checkout).paid_at is None


# Row 2: final money reaches the amount less the tolerance.


@pytest.mark.parametrize(
    ("status", "missing", "told"),
    [(PENDING, 25, ["completed"]), (UNDERPAID, 15, ["underpaid", "completed"]), (PROCESSING, 0, ["completed"])],
)
def test_enough_final_money_completes_a_checkout(status, missing, told):
    checkout, watcher = in_status(status)
    if missing:
        watcher.sees(checkout, missing * DOLLAR)
    watcher.confirms()
    attribute(now=SOON + timedelta(seconds=9))
    assert status_of(checkout) == COMPLETED
    assert events_of(checkout) == told
    assert fresh(checkout).paid_at == SOON + timedelta(seconds=9)
    assert fresh(checkout).exception == CheckoutException.NONE


# Row 3: everything seen is final and falls short.


@pytest.mark.parametrize("status", [PENDING, PROCESSING])
def test_final_money_that_falls_short_is_underpaid(status):
    checkout, watcher = in_status(status)
    if status == PROCESSING:
        polygon = Watcher("polygon")
        polygon.sees(checkout, 10 * DOLLAR)
        polygon.confirms()
        watcher.loses(checkout.payments.get().transfer)
    else:
        watcher.sees(checkout, 10 * DOLLAR)
        watcher.confirms()
    attribute()
    assert status_of(checkout) == UNDERPAID
    assert fresh(checkout).exception == CheckoutException.UNDERPAID
    assert events_of(checkout) == ["underpaid"]


def test_money_that_falls_short_and_is_not_final_leaves_a_checkout_pending():
    checkout, watcher = in_status(PENDING)
    watcher.sees(checkout, 10 * DOLLAR)
    attribute()
    assert status_of(checkout) == PENDING
    assert received(checkout) == 10 * DOLLAR
    assert not events_of(checkout)


def test_each_short_top_up_is_told_again_once_it_is_final():
    checkout, watcher = in_status(UNDERPAID)
    sums = [last_body(checkout)["data"]["amount_received"]]
    for _ in range(2):
        watcher.sees(checkout, 5 * DOLLAR)
        attribute()
        assert status_of(checkout) == UNDERPAID
        assert len(events_of(checkout)) == len(sums)
        watcher.confirms()
        attribute()
        sums.append(last_body(checkout)["data"]["amount_received"])
    watcher.sees(checkout, 5 * DOLLAR)
    watcher.confirms()
    attribute()
    assert sums == ["10.000000", "15.000000", "20.000000"]
    assert events_of(checkout) == ["underpaid", "underpaid", "underpaid", "completed"]


def test_a_shortfall_is_not_told_again_when_nothing_new_came():
    checkout, watcher = in_status(UNDERPAID)
    transfer = checkout.payments.get().transfer
    transfer.queued_at = SOON
    transfer.save(update_fields=["queued_at"])
    assert attribute() == 1
    assert events_of(checkout) == ["underpaid"]
    assert watcher.height == transfer.block_height


# Row 4: a reorganisation removed transfers.


@pytest.mark.parametrize("status", [PROCESSING, UNDERPAID])
def test_a_reorganisation_that_takes_everything_leads_back_to_pending(status):
    checkout, watcher = in_status(status)
    told = events_of(checkout)
    watcher.loses(checkout.payments.get().transfer)
    attribute()
    assert status_of(checkout) == PENDING
    assert fresh(checkout).exception == CheckoutException.NONE
    assert received(checkout) == 0
    assert credited(checkout) == 1
    assert events_of(checkout) == told


def test_a_reorganisation_that_takes_the_top_up_leads_back_to_underpaid():
    checkout, watcher = in_status(UNDERPAID)
    top_up = watcher.sees(checkout, 15 * DOLLAR)
    attribute()
    assert status_of(checkout) == PROCESSING
    watcher.loses(top_up)
    attribute()
    assert status_of(checkout) == UNDERPAID
    assert received(checkout) == 10 * DOLLAR
    assert events_of(checkout) == ["underpaid", "underpaid"]


def test_what_a_reorganisation_took_counts_again_when_it_returns():
    checkout, watcher = in_status(PROCESSING)
    transfer = checkout.payments.get().transfer
    watcher.loses(transfer)
    attribute()
    watcher.finds_again(transfer)
    attribute()
    assert status_of(checkout) == PROCESSING
    watcher.confirms()
    attribute()
    assert status_of(checkout) == COMPLETED
    assert credited(checkout) == 1
    assert events_of(checkout) == ["completed"]


# Row 5, expiry, is in test_expiry.py; what is common to all final statuses is here.


@pytest.mark.parametrize("status", [PENDING, UNDERPAID])
def test_expiring_tells_and_keeps_what_was_received(status):
    checkout, _ = in_status(status)
    told, sums = events_of(checkout), received(checkout)
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=SOON)
    assert status_of(checkout) == EXPIRED
    assert events_of(checkout) == [*told, "expired"]
    assert received(checkout) == sums
    assert shown(checkout)["payment"] is None


@pytest.mark.parametrize("status", [PROCESSING, COMPLETED, EXPIRED])
def test_a_move_the_table_does_not_have_is_refused(status):
    checkout = make_checkout(status=status)
    with pytest.raises(IllegalMoveError, match=f"{checkout.public_id} cannot go from"):
        expire([checkout], now=SOON)
    assert status_of(checkout) == status
    assert not events_of(checkout)


@pytest.mark.parametrize("final", sorted(FINAL))
@pytest.mark.parametrize("target", list(CheckoutStatus))
def test_the_database_refuses_to_change_a_final_status(final, target):
    checkout = make_checkout(status=final)
    paid_at = SOON if target == COMPLETED else None
    change = {"status": target, "paid_at": paid_at}
    if target == final:
        assert Checkout.objects.filter(pk=checkout.pk).update(**change) == 1
        return
    with pytest.raises(IntegrityError, match=f"is {final} and stays so"), transaction.atomic():
        Checkout.objects.filter(pk=checkout.pk).update(**change)
    assert status_of(checkout) == final


def test_without_the_trigger_a_final_status_would_move():
    """The negative control of the test above."""
    checkout = make_checkout(status=EXPIRED)
    alter("ALTER TABLE checkouts_checkout DISABLE TRIGGER checkout_final_status_guard")
    Checkout.objects.filter(pk=checkout.pk).update(status=PENDING)
    assert status_of(checkout) == PENDING


@pytest.mark.parametrize("live", sorted(LIVE))
def test_the_database_lets_live_statuses_move(live):
    checkout = make_checkout(status=live)
    Checkout.objects.filter(pk=checkout.pk).update(status=EXPIRED)
    assert status_of(checkout) == EXPIRED


@pytest.mark.parametrize(
    ("amount", "units", "status", "exception"),
    [
        ("25.00", 24_749_999, UNDERPAID, CheckoutException.UNDERPAID),
        ("25.00", 24_750_000, COMPLETED, CheckoutException.NONE),
        ("25.00", 25_250_000, COMPLETED, CheckoutException.NONE),
        ("25.00", 25_250_001, COMPLETED, CheckoutException.OVERPAID),
        ("5.00", 4_949_999, UNDERPAID, CheckoutException.UNDERPAID),
        ("5.00", 4_950_000, COMPLETED, CheckoutException.NONE),
        ("5.00", 5_050_000, COMPLETED, CheckoutException.NONE),
        ("5.00", 5_050_001, COMPLETED, CheckoutException.OVERPAID),
        ("0.10", 49_999, UNDERPAID, CheckoutException.UNDERPAID),
        ("0.10", 50_000, COMPLETED, CheckoutException.NONE),
        ("0.10", 150_001, COMPLETED, CheckoutException.OVERPAID),
        ("100.01", 99_009_899, UNDERPAID, CheckoutException.UNDERPAID),
        ("100.01", 99_009_900, COMPLETED, CheckoutException.NONE),
        ("1000000.00", 989_999_999_999, UNDERPAID, CheckoutException.UNDERPAID),
        ("1000000.00", 1_010_000_000_001, COMPLETED, CheckoutException.OVERPAID),
    ],
)
def test_the_tolerance_holds_to_the_base_unit(amount, units, status, exception):
    checkout = make_checkout(amount=Decimal(amount))
    pay(checkout, units)
    assert (status_of(checkout), fresh(checkout).exception) == (status, exception)
    assert events_of(checkout) == [status]


def test_a_shortfall_within_the_tolerance_leaves_nothing_to_pay():
    checkout = make_checkout()
    pay(checkout, 24_750_000)
    assert shown(checkout)["amount_received"] == "24.750000"
    assert shown(checkout)["amount_remaining"] == "0.000000"


def test_a_shortfall_beyond_the_tolerance_leaves_the_rest_of_the_whole_price():
    checkout = make_checkout()
    pay(checkout, 24_749_999)
    assert shown(checkout)["amount_remaining"] == "0.250001"


def test_a_transfer_orphaned_after_completion_is_an_exception_and_an_alert():
    checkout, watcher = in_status(PROCESSING)
    transfer = checkout.payments.get().transfer
    watcher.confirms()
    attribute()
    paid_at = fresh(checkout).paid_at
    watcher.loses(transfer)
    attribute()
    assert status_of(checkout) == COMPLETED
    assert fresh(checkout).exception == CheckoutException.REVERSED
    assert fresh(checkout).paid_at == paid_at
    assert received(checkout) == 0
    assert events_of(checkout) == ["completed", "reversed"]
    alert = InboxItem.objects.get()
    assert (alert.reason, alert.status) == (InboxReason.REVERSED, InboxStatus.OPEN)
    assert (alert.transfer, alert.checkout) == (transfer, checkout)


def test_a_reversed_transfer_that_returns_lifts_the_exception():
    checkout, watcher = in_status(PROCESSING)
    transfer = checkout.payments.get().transfer
    watcher.confirms()
    attribute()
    watcher.loses(transfer)
    attribute()
    watcher.finds_again(transfer)
    attribute()
    assert fresh(checkout).exception == CheckoutException.REVERSED
    watcher.confirms()
    attribute()
    assert fresh(checkout).exception == CheckoutException.NONE
    assert received(checkout) == 25 * DOLLAR
    assert status_of(checkout) == COMPLETED
    assert events_of(checkout) == ["completed", "reversed", "restored"]
    assert inbox_of(checkout) == [InboxReason.REVERSED]
    assert InboxItem.objects.get().status == InboxStatus.CREDITED


def test_every_transfer_taken_after_completion_has_an_alert():
    checkout = make_checkout()
    base, polygon = Watcher("base"), Watcher("polygon")
    halves = [base.sees(checkout, 12 * DOLLAR + DOLLAR // 2), polygon.sees(checkout, 12 * DOLLAR + DOLLAR // 2)]
    base.confirms()
    polygon.confirms()
    attribute()
    for watcher, half in zip([base, polygon], halves, strict=True):
        watcher.loses(half)
        attribute()
    assert inbox_of(checkout) == [InboxReason.REVERSED] * 2
    assert received(checkout) == 0


def test_losing_what_was_too_much_leaves_a_checkout_paid_and_is_told():
    checkout = make_checkout()
    base, polygon = Watcher("base"), Watcher("polygon")
    base.sees(checkout)
    second = polygon.sees(checkout)
    base.confirms()
    polygon.confirms()
    attribute()
    assert fresh(checkout).exception == CheckoutException.OVERPAID
    polygon.loses(second)
    attribute()
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert fresh(checkout).exception == CheckoutException.REVERSED
    assert inbox_of(checkout) == [InboxReason.REVERSED]
    assert received(checkout) == 25 * DOLLAR


def test_what_an_expired_checkout_received_short_stays_visible():
    checkout, watcher = in_status(UNDERPAID)
    transfer = checkout.payments.get().transfer
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=SOON)
    assert shown(checkout)["exception"] == "underpaid"
    watcher.loses(transfer)
    attribute()
    assert shown(checkout)["exception"] is None
    watcher.finds_again(transfer)
    attribute()
    assert shown(checkout)["exception"] == "underpaid"


def test_money_that_returns_after_expiry_waits_in_the_inbox():
    checkout, watcher = in_status(PROCESSING)
    transfer = checkout.payments.get().transfer
    watcher.loses(transfer)
    attribute()
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=SOON)
    watcher.finds_again(transfer)
    attribute()
    watcher.confirms()
    attribute()
    assert status_of(checkout) == EXPIRED
    assert inbox_of(checkout) == [InboxReason.LATE]
    assert InboxItem.objects.get().explanation == (
        "a reorganisation took this transfer, and it returned after the checkout expired"
    )
    assert events_of(checkout) == ["expired"]


# The event that tells of a move.


def _into(status: str) -> Checkout:
    if status == EXPIRED:
        checkout = make_checkout()
        with transaction.atomic():
            expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=SOON)
        return checkout
    checkout = make_checkout(metadata='{"z":1.10,"a":"\u00e9","n":{"big":123456789012345678901234567890}}')
    watcher = Watcher()
    pay(checkout, (3 if status == UNDERPAID else 25) * DOLLAR, watcher=watcher)
    if status not in ("reversed", "restored"):
        return checkout
    transfer = checkout.payments.get().transfer
    watcher.loses(transfer)
    attribute()
    if status == "restored":
        watcher.finds_again(transfer)
        watcher.confirms()
        attribute()
    return checkout


@pytest.mark.parametrize("kind", [*sorted(EVENT_OF), "reversed", "restored"])
def test_an_event_carries_what_get_shows_at_that_moment(kind):
    checkout = _into(kind)
    event = Event.objects.get(subject_id=checkout.public_id, type=f"checkout.{kind}")
    assert bytes(event.body).endswith(b'"data":' + shown_bytes(checkout) + b"}")
    assert shown(checkout)["status"] == (kind if kind in EVENT_OF else COMPLETED)


def test_metadata_reaches_the_event_untouched():
    metadata = '{"z":1.10,"a":"\u00e9\\u00e9","n":{"big":123456789012345678901234567890}}'
    checkout = make_checkout(metadata=metadata)
    pay(checkout)
    body = bytes(Event.objects.get().body)
    assert b'"metadata":' + metadata.encode() in body


def test_an_event_keeps_its_body_when_the_checkout_changes_later():
    checkout, watcher = in_status(PROCESSING)
    watcher.confirms()
    attribute()
    before = bytes(Event.objects.get().body)
    watcher.loses(checkout.payments.get().transfer)
    attribute()
    assert bytes(Event.objects.order_by("pk")[0].body) == before


def test_the_payment_of_several_transfers_is_their_sum_and_the_one_that_completed_it():
    checkout = make_checkout()
    base, polygon = Watcher("base"), Watcher("polygon")
    base.sees(checkout, 10 * DOLLAR)
    base.confirms(now=SOON)
    attribute()
    completing = polygon.sees(checkout, 15 * DOLLAR, token="USDT")
    polygon.confirms(now=SOON + timedelta(seconds=30))
    attribute()
    payment = last_body(checkout)["data"]["payment"]
    assert payment == {
        "amount_crypto": "25.000000",
        "crypto_currency": "USDT",
        "network": "polygon",
        "tx_hash": completing.tx_hash,
        "sender_address": completing.sender,
        "confirmed_at": "2026-11-20T12:01:30.000000Z",
    }


def test_an_event_goes_to_the_checkouts_own_url():
    checkout = make_checkout(webhook_url="https://shop.example/hook")
    pay(checkout)
    assert Delivery.objects.get().endpoint.url == "https://shop.example/hook"


def test_events_of_a_batch_are_numbered_without_gaps():
    merchant = make_merchant()
    watcher = Watcher()
    for units in (25, 3, 25, 7):
        watcher.sees(make_checkout(merchant), units * DOLLAR)
    watcher.confirms()
    attribute()
    numbers = Event.objects.filter(merchant=merchant).values_list("sequence", flat=True)
    assert sorted(numbers) == [1, 2, 3, 4]


def test_an_occurrence_that_was_told_is_not_told_again():
    checkout, watcher = in_status(UNDERPAID)
    # As if the writer worked from a row older than the event: it would number its event like the one there is.
    Checkout.objects.filter(pk=checkout.pk).update(event_count=0)
    watcher.sees(checkout, 5 * DOLLAR)
    watcher.confirms()
    attribute()
    assert events_of(checkout) == ["underpaid"]


def test_without_the_occurrence_constraint_an_event_could_be_told_twice():
    """The negative control: the same row is refused with the constraint and accepted without it."""
    checkout = make_checkout()
    pay(checkout)
    event = Event.objects.get()
    again = {
        "merchant": event.merchant,
        "mode": event.mode,
        "type": event.type,
        "subject_id": event.subject_id,
        "occurrence": event.occurrence,
        "body": event.body,
        "created_at": SOON,
    }
    with pytest.raises(IntegrityError, match="event_once_per_occurrence"), transaction.atomic():
        Event.objects.create(sequence=2, **again)
    alter("ALTER TABLE webhooks_event DROP CONSTRAINT event_once_per_occurrence")
    Event.objects.create(sequence=2, **again)
    assert events_of(checkout) == ["completed", "completed"]


def test_nothing_is_written_for_a_checkout_whose_facts_did_not_move_it():
    checkout, _ = in_status(UNDERPAID)
    transfer = checkout.payments.get().transfer
    transfer.queued_at = SOON
    transfer.save(update_fields=["queued_at"])
    with CaptureQueriesContext(connection) as queries:
        attribute()
    written = [q["sql"] for q in queries if "UPDATE checkouts_checkout" in q["sql"]]
    assert written == []
