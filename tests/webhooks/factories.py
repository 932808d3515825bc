"""Rows and values of the outbox for tests."""

import itertools
from datetime import datetime
from typing import Any

from django.db.models import F, Q

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.secrets import unseal
from tests.factories import NOON
from webhooks.models import Attempt, Delivery, Endpoint, SigningSecret
from webhooks.outbox.events import BELL, NewEvent, publish
from webhooks.states import DeliveryStatus

__all__ = ["BELL", "HOOK", "make_attempt", "make_deliveries", "make_endpoint", "make_failed", "new_event", "secrets_of"]

HOOK = "https://shop.example/hook"

_occurrence = itertools.count(1)


def new_event(merchant: Merchant, **overrides: Any) -> NewEvent:
    """An event about a checkout that exists nowhere else."""
    number = next(_occurrence)
    values: dict[str, Any] = {
        "mode": Mode.LIVE,
        "type": "checkout.completed",
        "subject_id": f"chk_live_{number}",
        "occurrence": f"chk_live_{number}:completed",
        "data": b'{"metadata":{"z":1.10,"a":"\xc3\xa9"}}',
    }
    return NewEvent(merchant_id=merchant.pk, **(values | overrides))


def make_endpoint(merchant: Merchant, url: str = "http://127.0.0.1:9/", **overrides: Any) -> Endpoint:
    """A URL of the merchant, by default its default one."""
    values = {"mode": Mode.LIVE, "is_default": True, "created_at": NOON}
    return Endpoint.objects.create(merchant=merchant, url=url, **(values | overrides))


def make_deliveries(endpoint: Endpoint, count: int = 1) -> list[Delivery]:
    """Published events on their way to the endpoint, the oldest first."""
    events = [new_event(endpoint.merchant, mode=Mode(endpoint.mode), url=endpoint.url) for _ in range(count)]
    rows = publish(events, now=NOON)
    return list(Delivery.objects.filter(event__in=rows).select_related("endpoint").order_by("pk"))


def make_failed(endpoint: Endpoint, count: int = 1, **attempt: Any) -> list[Delivery]:
    """Deliveries that were given up after one try."""
    rows = make_deliveries(endpoint, count)
    for row in rows:
        make_attempt(row, **attempt)
    keys = [row.pk for row in rows]
    Delivery.objects.filter(pk__in=keys).update(status=DeliveryStatus.FAILED, is_due=False, tries=12, finished_at=NOON)
    return list(Delivery.objects.filter(pk__in=keys).order_by("pk"))


def make_attempt(delivery: Delivery, **overrides: Any) -> Attempt:
    """A try that was answered 500."""
    values: dict[str, Any] = {
        "started_at": NOON,
        "duration_ms": 87,
        "status_code": 500,
        "request_headers": {"X-Service-Event": "checkout.completed"},
        "response_headers": {"Server": "nginx"},
        "response_body": "out of coffee",
    }
    return Attempt.objects.create(delivery=delivery, **(values | overrides))


def secrets_of(merchant: Merchant, *, now: datetime) -> list[str]:
    """The merchant's valid secrets, the current one first."""
    valid = Q(expires_at=None) | Q(expires_at__gt=now)
    rows = SigningSecret.objects.filter(valid, merchant=merchant).order_by(
        F("expires_at").desc(nulls_first=True), "-pk"
    )
    return [unseal(bytes(row.sealed)) for row in rows]
