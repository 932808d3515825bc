"""Manual retries."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core import bell
from gateway.core.api.errors import ConflictError
from gateway.core.texts import pgettext_noop
from gateway.core.times import iso
from webhooks.models import Delivery, Endpoint
from webhooks.outbox.delivery_pages import DeliveryWalk, delivery_keys
from webhooks.outbox.events import BELL
from webhooks.states import DeliveryStatus

# Bounds one transaction: its rows are locked while the sender waits.
MOST_RETRIED = 10_000
RETRIED = (DeliveryStatus.FAILED, DeliveryStatus.PENDING)


@transaction.atomic
def retry(delivery: Delivery, *, now: datetime, actor: Actor | None = None) -> None:
    """Send a delivery again at once, and restart its schedule.

    With an `actor`, the retry is audited. Raises ConflictError while its endpoint is disabled, and if it was deleted.
    """
    if delivery.status == DeliveryStatus.CANCELLED:
        raise ConflictError(pgettext_noop("team", "Its endpoint was deleted."))
    if delivery.endpoint.disabled_at is not None:
        raise ConflictError(pgettext_noop("team", "The endpoint is disabled. Enable it first."))
    _start_afresh(Delivery.objects.filter(pk=delivery.pk), now)
    if actor is not None:
        record(delivery.merchant, action="webhook_delivery.retried", actor=actor, object_id=delivery.public_id, now=now)


@transaction.atomic
def retry_range(
    merchant: Merchant,
    *,
    mode: Mode,
    since: datetime,
    until: datetime,
    now: datetime,
    statuses: Sequence[DeliveryStatus] = RETRIED,
    actor: Actor = SYSTEM,
) -> int:
    """Resend failed or waiting deliveries, by `statuses`, of the events in `since <= t < until`; return how many.

    Deliveries to disabled endpoints are left alone. Raises ConflictError if there are more than MOST_RETRIED.
    """
    walk = DeliveryWalk(merchant.pk, mode, statuses, since=since, until=until)
    changed = _start_afresh(retriable(walk), now)
    record(
        merchant,
        action="webhook_deliveries.retried",
        actor=actor,
        object_id=merchant.public_id,
        after={
            "mode": mode,
            "since": iso(since),
            "until": iso(until),
            "statuses": list(statuses),
            "deliveries": changed,
        },
        now=now,
    )
    return changed


def retriable(walk: DeliveryWalk) -> QuerySet[Delivery]:
    """Return the deliveries of a walk that can be sent again. Raises ConflictError if there are more than MOST_RETRIED."""
    keys = delivery_keys(walk, rows=MOST_RETRIED + 1)
    if len(keys) > MOST_RETRIED:
        raise ConflictError(
            pgettext_noop("team", "There are more than {most:,} deliveries. Choose a shorter time."),
            values={"most": MOST_RETRIED},
        )
    # A delivery that succeeded since the query stays delivered.
    return Delivery.objects.filter(pk__in=keys, status__in=walk.statuses, endpoint__disabled_at=None)


def _start_afresh(deliveries: QuerySet[Delivery], now: datetime) -> int:
    # Endpoints before deliveries, as the sender locks them.
    waiting = Endpoint.objects.select_for_update(no_key=True).filter(
        pk__in=deliveries.order_by().values("endpoint"), next_probe_at__gt=now
    )
    probed = list(waiting.order_by("pk").values_list("pk", flat=True))
    Endpoint.objects.filter(pk__in=probed).update(next_probe_at=now)
    keys = list(deliveries.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))
    changed = Delivery.objects.filter(pk__in=keys).update(
        status=DeliveryStatus.PENDING, tries=0, next_attempt_at=now, is_due=True, finished_at=None
    )
    bell.ring(BELL)
    return changed
