"""The health page: metrics, the chains' status, and failing endpoints."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import IntegerField, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from checkouts.models import InboxItem
from checkouts.states import InboxStatus
from gateway.pages.health import valkey_answers
from gateway.pages.metrics import (
    mails_given_up,
    oldest_waiting,
)
from mails.models import OutgoingMail
from settlements.selectors import book_checks, gas_health, troubled_forwarders
from wallets.models import Transfer
from wallets.networks import watched_chains
from wallets.reconciliation.report import report_chains
from webhooks.models import TROUBLED, Delivery, Endpoint
from webhooks.states import DeliveryStatus

_MOST_ENDPOINTS: Final = 50
# Counting stops here: an endpoint that fails for weeks may have a million waiting deliveries.
_MOST_FAILED: Final = 1000


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue: its number of waiting rows, and since when the oldest is late (None if none is)."""

    label: str
    waiting: int
    oldest: datetime | None


class _Counted(Subquery):
    """Counts a subquery's rows; unlike an aggregate, it stops at the subquery's slice."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def health_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Render the page; `context` is what every page of the site needs. Every node is asked, with a limit of seconds."""
    now = timezone.now()
    shown = {
        "title": "Installation health",
        "queues": _queues(now),
        "given_up": mails_given_up(),
        "inbox": InboxItem.objects.filter(status=InboxStatus.OPEN).count(),
        "has_valkey": valkey_answers(),
        "chains": report_chains(watched_chains(), now=now),
        "gas_accounts": gas_health(),
        "troubled": troubled_forwarders(),
        "book_checks": book_checks(),
        "endpoints": _failing_endpoints(),
        "most_failed": _MOST_FAILED,
    }
    return render(request, "operator/health.html", context | shown)


def _queues(now: datetime) -> list[Queue]:
    oldest = oldest_waiting(now=now)
    transfers = Transfer.objects.filter(queued_at__isnull=False)
    deliveries = Delivery.objects.filter(status=DeliveryStatus.PENDING)
    mails = OutgoingMail.objects.filter(due_at__isnull=False)
    return [
        Queue(label, rows.count(), oldest[f"florin_{name}_queue_seconds"])
        for label, rows, name in (
            ("Transfers not decided yet", transfers, "transfer"),
            ("Deliveries to send", deliveries, "delivery"),
            ("Mails to send", mails, "mail"),
        )
    ]


def _failing_endpoints() -> QuerySet[Endpoint]:
    worst = Endpoint.objects.filter(TROUBLED).order_by("-consecutive_failures", "pk")
    keys = list(worst.values_list("pk", flat=True)[:_MOST_ENDPOINTS])
    failed = Delivery.objects.filter(
        endpoint=OuterRef("pk"), status=DeliveryStatus.FAILED
    )
    counted = _Counted(failed.values("endpoint")[:_MOST_FAILED])
    rows = Endpoint.objects.filter(pk__in=keys).select_related("merchant")
    return rows.annotate(failed=counted).order_by("-consecutive_failures", "pk")
