"""The event that tells of a move."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from checkouts.lifecycle.moves import EVENT_OF, expire
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.schema import alter
from tests.checkouts.watcher import (
    DOLLAR,
    SOON,
    Watcher,
    attribute,
    events_of,
    in_status,
    last_body,
    pay,
    shown,
    shown_bytes,
)
from tests.factories import make_checkout, make_merchant
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db

EXPIRED = CheckoutStatus.EXPIRED

PENDING = CheckoutStatus.PENDING

PROCESSING = CheckoutStatus.PROCESSING

UNDERPAID = CheckoutStatus.UNDERPAID

COMPLETED = CheckoutStatus.COMPLETED


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
