"""Trying again by hand."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core import bell
from gateway.core.errors import ConflictError
from webhooks.models import Delivery, Endpoint
from webhooks.services.events import BELL
from webhooks.states import DeliveryStatus


@transaction.atomic
def retry(delivery: Delivery, *, now: datetime) -> None:
    """Send a delivery again at once, whatever became of it, and start its schedule afresh.

    Raises ConflictError while its endpoint is disabled.
    """
    if delivery.endpoint.disabled_at is not None:
        raise ConflictError("The endpoint is disabled. Enable it first.")
    _start_afresh(Delivery.objects.filter(pk=delivery.pk), now)


@transaction.atomic
def retry_range(
    merchant: Merchant, *, mode: Mode, since: datetime, until: datetime, now: datetime
) -> int:
    """Send again what failed or still waits of the events in `since <= t < until`; return how many.

    Deliveries to disabled endpoints are left alone.
    """
    wanted = Delivery.objects.filter(
        event__merchant=merchant,
        event__mode=mode,
        event__created_at__gte=since,
        event__created_at__lt=until,
        endpoint__disabled_at=None,
        status__in=[DeliveryStatus.FAILED, DeliveryStatus.PENDING],
    )
    return _start_afresh(wanted, now)


def _start_afresh(deliveries: QuerySet[Delivery], now: datetime) -> int:
    # Endpoints before deliveries, as the sender locks them.
    waiting = Endpoint.objects.select_for_update(no_key=True).filter(
        pk__in=deliveries.order_by().values("endpoint"), next_probe_at__gt=now
    )
    probed = list(waiting.order_by("pk").values_list("pk", flat=True))
    Endpoint.objects.filter(pk__in=probed).update(next_probe_at=now)
    keys = list(
        deliveries.select_for_update(of=("self",))
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    changed = Delivery.objects.filter(pk__in=keys).update(
        status=DeliveryStatus.PENDING,
        tries=0,
        next_attempt_at=now,
        is_due=True,
        finished_at=None,
    )
    transaction.on_commit(lambda: bell.ring(BELL))
    return changed
