"""Test events: signed and sent like real ones, and marked as tests.

The event type is a real one, so that the receiver handles it as usual. The signed body shows that it is a test: the
checkout has an unused test-mode id, `livemode` is false, and the order reference is one that no real order has.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core import json
from gateway.core.api.errors import ConflictError
from gateway.core.ids import new_id
from gateway.core.texts import pgettext_noop
from webhooks.models import Delivery, Endpoint
from webhooks.outbox.events import SAMPLE_PREFIX, NewEvent, publish
from webhooks.states import DeliveryStatus

SAMPLE_TYPE = "checkout.completed"
_LOOKED_AT = 100

SampleWriter: TypeAlias = Callable[[str, Merchant, datetime], dict[str, Any]]
"""Returns the object of a test event from its public id, the merchant and the time."""


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
        raise ConflictError(pgettext_noop("team", "The endpoint is disabled. Enable it first."))
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
    write: SampleWriter = import_string(settings.WEBHOOK_SAMPLE)
    return NewEvent(
        merchant_id=endpoint.merchant_id,
        mode=Mode(endpoint.mode),
        type=SAMPLE_TYPE,
        subject_id=subject_id,
        occurrence=f"{subject_id}:sample",
        data=json.dumps(write(subject_id, endpoint.merchant, now)),
        url=endpoint.url,
        is_sample=True,
    )
