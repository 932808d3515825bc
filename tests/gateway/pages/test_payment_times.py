"""How long payments took to each stage."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.states import Mode
from checkouts.models import Payment
from gateway.pages.metrics import measure
from tests.factories import NOON, make_checkout, make_live_chain, make_transfer
from wallets.models import Transfer
from wallets.states import TransferState
from webhooks.models import Delivery, Endpoint, Event
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


def after(seconds: float) -> dict[str, Any]:
    return {"block_time": NOON, "detected_at": NOON + timedelta(seconds=seconds)}


def scraped(minutes: int = 10) -> str:
    return measure(now=NOON + timedelta(minutes=minutes)).decode()


def series(stage: str, limit: str) -> str:
    return f'florin_payment_seconds_bucket{{chain="base",le="{limit}",stage="{stage}"}}'


def test_a_payment_is_counted_at_each_stage_that_it_reached() -> None:
    make_live_chain("base")
    checkout = make_checkout()
    transfer = make_transfer(
        checkout, **after(3), state=TransferState.CONFIRMED, confirmed_at=NOON + timedelta(seconds=20)
    )
    credited = NOON + timedelta(seconds=40)
    Payment.objects.create(checkout=checkout, transfer=transfer, credited_at=credited)
    owner = {"merchant": checkout.merchant, "mode": checkout.mode}
    event = Event.objects.create(
        **owner,
        type="checkout.paid",
        subject_id=checkout.public_id,
        occurrence="a",
        sequence=1,
        body=b"{}",
        created_at=credited,
    )
    delivery = Delivery.objects.create(
        **owner,
        event=event,
        endpoint=Endpoint.objects.create(**owner, url="https://shop.example/"),
        event_type=event.type,
        next_attempt_at=credited,
        created_at=credited,
    )
    assert 'stage="webhook"' not in scraped()
    delivery.status = DeliveryStatus.DELIVERED
    delivery.finished_at = NOON + timedelta(seconds=90)
    delivery.save()
    told = scraped()
    for stage, below, above in (
        ("seen", "2.0", "5.0"),
        ("final", "10.0", "30.0"),
        ("credited", "30.0", "60.0"),
        ("webhook", "60.0", "120.0"),
    ):
        assert f"{series(stage, below)} 0.0" in told
        assert f"{series(stage, above)} 1.0" in told
        assert f"{series(stage, '+Inf')} 1.0" in told


def test_a_payment_on_the_limit_of_a_bucket_is_inside() -> None:
    make_live_chain("base")
    make_transfer(make_checkout(), **after(5))
    assert f"{series('seen', '5.0')} 1.0" in scraped()
    assert f"{series('seen', '2.0')} 0.0" in scraped()


@pytest.mark.parametrize("change", [{"state": TransferState.ORPHANED}, {"mode": Mode.TEST}])
def test_orphaned_and_test_payments_are_left_out(change: dict[str, str]) -> None:
    make_live_chain("base")
    transfer = make_transfer(make_checkout(), **after(3))
    assert 'stage="seen"' in scraped()
    Transfer.objects.filter(pk=transfer.pk).update(**change)
    assert 'stage="seen"' not in scraped()


def test_payments_from_before_the_last_hour_are_left_out() -> None:
    make_live_chain("base")
    make_transfer(make_checkout(), **after(3))
    assert 'stage="seen"' not in scraped(minutes=61)
