"""The health page: metrics, the chains' status, and failing endpoints; and the page of rates."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models import IntegerField, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from accounts.audit.actors import actor_of
from accounts.audit.service import record
from accounts.models import Merchant
from checkouts.disruptions import disruptions_everywhere
from checkouts.models import InboxItem
from checkouts.states import InboxStatus
from gateway.core.currencies import format_rate
from gateway.pages.health import valkey_answers
from gateway.pages.metrics import mails_given_up, oldest_waiting
from mails.models import OutgoingMail
from rates.models import RateTrouble
from rates.rule import RateRefusal, SourceRate
from rates.selectors import known_pegs, known_rates, policy, weak_tokens
from rates.service import REASONS
from settlements.selectors import book_checks, gas_health, gas_spent, troubled_forwarders
from wallets.disruptions import Reader, tell
from wallets.models import ChainCursor, Transfer
from wallets.networks import chain_spec, watched_chains
from wallets.reconciliation.report import report_chains
from wallets.selectors import forget
from wallets.transfers.doubts import Doubt, doubts
from wallets.watchers.ingest import resume
from webhooks.models import TROUBLED, Delivery, Endpoint
from webhooks.states import NOTES, DeliveryStatus

_MOST_ENDPOINTS: Final = 50
# Counting stops here: an endpoint that fails for weeks may have a million waiting deliveries.
_MOST_FAILED: Final = 1000
_GAS_PERIOD = timedelta(days=30)
_TROUBLE_PERIOD: Final = timedelta(days=30)
_MOST_TROUBLES: Final = 200


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
        "told": [tell(one, Reader.OPERATOR) for one in disruptions_everywhere(now=now)],
        "halts": _halts(),
        "chains": report_chains(watched_chains(), now=now),
        "gas_accounts": gas_health(),
        "gas_spent": gas_spent(since=now - _GAS_PERIOD),
        "troubled": troubled_forwarders(),
        "book_checks": book_checks(),
        "endpoints": _failing_endpoints(),
        "most_failed": _MOST_FAILED,
    }
    return render(request, "gateway/operator/health.html", context | shown)


class ResumeForm(forms.Form):
    """The last block that is surely in a chain, and the operator's word for it."""

    height = forms.IntegerField(min_value=0, max_value=2**62)
    sure = forms.BooleanField()


def resume_page(request: HttpRequest, chain: str) -> HttpResponse:
    """Resume a halted chain after the block that an operator names, audited; redirect to the health page."""
    form = ResumeForm(request.POST)
    back = HttpResponseRedirect(reverse("admin:health"))
    if not form.is_valid():
        messages.error(request, "Enter the last valid block, and tick the box.")
        return back
    height, now = form.cleaned_data["height"], timezone.now()
    with transaction.atomic():
        halted = ChainCursor.objects.select_for_update().filter(chain=chain)
        cursor = halted.exclude(halted_reason="").first()
        if cursor is None:
            messages.error(request, f"{chain} is not stopped.")
            return back
        before = {"reason": cursor.halted_reason, "height": cursor.height}
        lost = resume(chain, height=height, now=now)
        record(
            None,
            action="chain.resumed",
            actor=actor_of(request),
            object_id=chain,
            before=before,
            after={"height": height, "transfers": lost},
            now=now,
        )
    # This page shows what it read a second ago.
    forget()
    messages.success(
        request,
        f"{chain} continues after block {height}. Transfers that count as lost until they are seen again: {lost}.",
    )
    return back


@dataclass(frozen=True, slots=True)
class Halt:
    """A halted chain; `doubted` are its merchants with the numbers of their payments in doubt."""

    cursor: ChainCursor
    title: str
    doubted: list[tuple[Merchant, Doubt]]


def _halts() -> list[Halt]:
    cursors = list(ChainCursor.objects.exclude(halted_reason="").order_by("chain"))
    found = doubts() if cursors else []
    merchants = Merchant.objects.in_bulk([doubt.merchant_id for doubt in found])
    return [
        Halt(
            cursor,
            chain_spec(cursor.chain).title,
            [(merchants[d.merchant_id], d) for d in found if d.chain == cursor.chain],
        )
        for cursor in cursors
    ]


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
    worst = Endpoint.objects.filter(TROUBLED).exclude(mode=NOTES).order_by("-consecutive_failures", "pk")
    keys = list(worst.values_list("pk", flat=True)[:_MOST_ENDPOINTS])
    failed = Delivery.objects.filter(endpoint=OuterRef("pk"), status=DeliveryStatus.FAILED)
    counted = _Counted(failed.values("endpoint")[:_MOST_FAILED])
    rows = Endpoint.objects.filter(pk__in=keys).select_related("merchant")
    return rows.annotate(failed=counted).order_by("-consecutive_failures", "pk")


def rates_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Render the page; `context` is what every page of the site needs. No source is asked."""
    now = timezone.now()
    rule = policy()
    troubles = RateTrouble.objects.filter(began_at__gte=now - _TROUBLE_PERIOD).order_by("-began_at", "-pk")[
        :_MOST_TROUBLES
    ]
    shown = {
        "title": "Rates",
        "sources": rule.sources,
        "daily": rule.daily,
        "single": rule.is_single_allowed,
        "agreement": f"{rule.agreement * 100:f}".rstrip("0").rstrip("."),
        "most_age": settings.RATE_MOST_AGE_SECONDS,
        "rows": [
            (one.currency, REASONS[one.refusal] if one.refusal else "", list(map(_shown, one.readings)))
            for one in known_rates(now=now)
        ],
        "pegs": [(token, list(map(_shown, sorted(told)))) for token, told in sorted(known_pegs().items())],
        "weak": sorted(weak_tokens()),
        "troubles": [(one, REASONS[RateRefusal(one.reason)]) for one in troubles],
    }
    return render(request, "gateway/operator/rates.html", context | shown)


def _shown(reading: SourceRate) -> tuple[str, str, Any]:
    return reading.source, format_rate(reading.rate), reading.taken_at
