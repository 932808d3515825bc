"""Webhook deliveries of a checkout: address and result of each."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, OuterRef, QuerySet, Subquery

from checkouts.models import Checkout
from webhooks.dashboard.words import DELIVERIES, Badge
from webhooks.models import Attempt, Delivery
from webhooks.states import DeliveryStatus


@dataclass(frozen=True, slots=True)
class ShownDelivery:
    """A delivery of an event. `last` is the endpoint's last answer: a status code or a kind of failure."""

    public_id: str
    event: str
    url: str
    badge: Badge
    status: str
    attempts: int
    last: str
    next_at: datetime | None
    finished_at: datetime | None
    can_repeat: bool

    @property
    def is_waiting(self) -> bool:
        """Whether a retry is due soon."""
        return self.status == DeliveryStatus.PENDING


def deliveries_to(checkout: Checkout) -> QuerySet[Delivery]:
    """Return the deliveries of a checkout's events, in order, their event and endpoint loaded."""
    of_events = Delivery.objects.filter(
        event__merchant=checkout.merchant_id, event__mode=checkout.mode, event__subject_id=checkout.public_id
    )
    rows = of_events.select_related("event", "endpoint").order_by("pk")
    # No bodies are shown here, and the page polls every two seconds.
    return rows.defer("event__body")


def deliveries_of(checkout: Checkout) -> tuple[ShownDelivery, ...]:
    """Return the state of each delivery of a checkout's events."""
    newest = Attempt.objects.filter(delivery=OuterRef("pk")).order_by("-pk")
    rows = deliveries_to(checkout).annotate(
        attempt_count=Count("attempts"),
        last_code=Subquery(newest.values("status_code")[:1]),
        last_error=Subquery(newest.values("error")[:1]),
    )
    return tuple(
        ShownDelivery(
            public_id=row.public_id,
            event=row.event.type,
            url=row.endpoint.url,
            badge=DELIVERIES[DeliveryStatus(row.status)],
            status=row.status,
            attempts=row.attempt_count,
            last=str(row.last_code or row.last_error or ""),
            next_at=_next_at(row),
            finished_at=row.finished_at,
            can_repeat=row.endpoint.disabled_at is None,
        )
        for row in rows
    )


def _next_at(row: Delivery) -> datetime | None:
    return row.next_attempt_at if row.status == DeliveryStatus.PENDING else None
