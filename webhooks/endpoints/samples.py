"""Test events: signed and sent like real ones, and marked as tests.

The event type is a real one, so that the receiver handles it as usual. The signed body shows that it is a test: the
checkout has an unused test-mode id, `livemode` is false, and the order reference is one that no real order has.
"""

from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db import transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core import json
from gateway.core.api.errors import ConflictError
from gateway.core.ids import new_code, new_id
from gateway.core.money import format_token, format_usd
from gateway.core.times import iso
from webhooks.models import Delivery, Endpoint
from webhooks.outbox.events import SAMPLE_PREFIX, NewEvent, publish
from webhooks.states import DeliveryStatus

SAMPLE_TYPE = "checkout.completed"
SAMPLE_ORDER = "test-event"
_AMOUNT = Decimal("25.00")
_ZERO = Decimal(0)
_LOOKED_AT = 100
# No transaction has this hash, and no key exists for this address.
_TX_HASH = "0x" + "00" * 32
_SENDER = "0x" + "00" * 20


@transaction.atomic
def send_sample(endpoint: Endpoint, *, now: datetime, actor: Actor) -> Delivery:
    """Queue a test event to an endpoint; return its delivery, or that of an earlier one still waiting.

    Raises ConflictError while the endpoint is disabled.
    """
    # One at a time: a double click shows the first event's result.
    endpoint = (
        Endpoint.objects.select_for_update(no_key=True, of=("self",)).select_related("merchant").get(pk=endpoint.pk)
    )
    if endpoint.disabled_at is not None:
        raise ConflictError("The endpoint is disabled. Enable it first.")
    if waiting := _waiting(endpoint):
        return waiting
    _record(endpoint, now, actor)
    [event] = publish([_sample(endpoint, now)], now=now)
    return Delivery.objects.get(event=event)


def _waiting(endpoint: Endpoint) -> Delivery | None:
    pending = Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.PENDING)
    # With more waiting behind it, a second one does no harm.
    newest = list(pending.order_by("-pk").values_list("pk", flat=True)[:_LOOKED_AT])
    samples = Delivery.objects.filter(pk__in=newest, event__public_id__startswith=SAMPLE_PREFIX)
    return samples.order_by("-pk").first()


def _record(endpoint: Endpoint, now: datetime, actor: Actor) -> None:
    record(
        endpoint.merchant,
        action="webhook_sample.sent",
        actor=actor,
        object_id=endpoint.url[:80],
        after={"mode": endpoint.mode},
        now=now,
    )


def _sample(endpoint: Endpoint, now: datetime) -> NewEvent:
    subject_id = new_id("chk_test")
    return NewEvent(
        merchant_id=endpoint.merchant_id,
        mode=Mode(endpoint.mode),
        type=SAMPLE_TYPE,
        subject_id=subject_id,
        occurrence=f"{subject_id}:sample",
        data=_checkout(subject_id, endpoint.merchant, now),
        url=endpoint.url,
        is_sample=True,
    )


def _checkout(public_id: str, merchant: Merchant, now: datetime) -> bytes:
    """Return a completed checkout as the API shows one."""
    created_at, paid = now - timedelta(minutes=2), format_token(_AMOUNT)
    return json.dumps(
        {
            "id": public_id,
            "status": "completed",
            "amount": format_usd(_AMOUNT),
            "currency": "USD",
            "description": f"Test event for {merchant.name}",
            "metadata": {"sample": True},
            "checkout_url": f"{settings.CHECKOUT_HOST}/c/{new_code()}",
            "references": {
                "customer_ref": None,
                "product_ref": None,
                "order_ref": SAMPLE_ORDER,
                "ambiguity_resolution_armed": False,
            },
            "payment": {
                "amount_crypto": paid,
                "crypto_currency": "USDC",
                "network": "base",
                "tx_hash": _TX_HASH,
                "sender_address": _SENDER,
                "confirmed_at": iso(now),
            },
            "expires_at": iso(created_at + timedelta(hours=1)),
            "created_at": iso(created_at),
            "livemode": False,
            "amount_received": paid,
            "amount_remaining": format_token(_ZERO),
            "exception": None,
            "paid_at": iso(now),
            "cancelled": False,
            "replaces": None,
            "replaced_by": None,
            "transfers": [],
            "escrow": False,
            "escrow_status": None,
            "escrow_released_by": None,
        }
    )
