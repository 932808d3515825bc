"""Endpoint queries for the dashboard: default endpoints, those of single checkouts, and failing ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts.models import AuditEntry
from accounts.team.access import Seat
from gateway.core.api.pagination import KeysetPage
from gateway.core.web.badges import Badge
from webhooks.dashboard.words import health_of
from webhooks.endpoints.secrets import ROLLED
from webhooks.models import LISTED, Delivery, Endpoint, SigningSecret
from webhooks.outbox.delivery_pages import DeliveryWalk, delivery_keys
from webhooks.selectors import MOST_COUNTED, UNFINISHED, troubled_endpoints
from webhooks.states import DeliveryStatus

PAGE_ROWS: Final = 20
# How far back the last success is searched: an endpoint without one in this many deliveries has none recently.
_LOOKED_AT: Final = 500


@dataclass(frozen=True, slots=True)
class ShownEndpoint:
    """An endpoint, its health in a word, and whether anything waits for it."""

    row: Endpoint
    badge: Badge
    has_waiting: bool


def failing_count(seat: Seat) -> int:
    """Return how many of the mode's endpoints are disabled or on probation and still matter, at most MOST_COUNTED.

    A former default with nothing waiting does not matter.
    """
    return troubled_endpoints(seat.merchant.pk, seat.mode).order_by()[:MOST_COUNTED].count()


def failing_delivery(seat: Seat) -> str:
    """Return the id of the newest delivery that failed to the endpoint that has failed for longest; "" without one."""
    tried = troubled_endpoints(seat.merchant.pk, seat.mode).filter(disabled_at=None)
    endpoint = tried.order_by(F("failing_since").asc(nulls_last=True), "pk").first()
    waiting = Delivery.objects.filter(endpoint=endpoint, status__in=UNFINISHED, tries__gt=0)
    newest = waiting.order_by("-pk").values_list("public_id", flat=True).first() if endpoint else None
    return newest or ""


def endpoints_of(seat: Seat) -> QuerySet[Endpoint]:
    """Return a merchant's endpoints of one mode."""
    return Endpoint.objects.filter(merchant=seat.merchant, mode=seat.mode)


def default_endpoint(seat: Seat) -> Endpoint | None:
    """Return the mode's default endpoint, used unless a checkout names another address."""
    return endpoints_of(seat).filter(is_default=True).first()


def endpoint_of(seat: Seat, endpoint_id: int) -> Endpoint | None:
    """Return one endpoint with its merchant; None for another merchant's or the other mode's."""
    rows = endpoints_of(seat).select_related("merchant")
    return rows.filter(pk=endpoint_id).first()


def other_endpoints(seat: Seat, query: Mapping[str, str]) -> KeysetPage[ShownEndpoint]:
    """Return a page of the endpoints that single checkouts named; `below` is the key of the one before it."""
    rows = endpoints_of(seat).filter(~LISTED, is_default=False)
    below = query.get("below", "")
    if below.isascii() and below.isdigit() and len(below) <= 18:
        rows = rows.filter(pk__lt=int(below))
    else:
        below = ""
    found = list(rows.order_by("-pk")[: PAGE_ROWS + 1])
    shown = found[:PAGE_ROWS]
    older = f"below={shown[-1].pk}" if len(found) > PAGE_ROWS else ""
    return KeysetPage(_shown(shown), newer="below=" if below else "", older=older)


def listed_endpoints(seat: Seat) -> list[ShownEndpoint]:
    """Return the endpoints that the merchant added, newest first."""
    return _shown(list(endpoints_of(seat).filter(LISTED, is_default=False).order_by("-created_at", "-pk")))


def shown_endpoint(endpoint: Endpoint) -> ShownEndpoint:
    """Return the page's data of an endpoint."""
    return _shown([endpoint])[0]


def _shown(endpoints: Sequence[Endpoint]) -> list[ShownEndpoint]:
    keys = [endpoint.pk for endpoint in endpoints]
    waiting = Delivery.objects.filter(endpoint=OuterRef("pk"), status__in=UNFINISHED)
    busy = Endpoint.objects.filter(Exists(waiting), pk__in=keys)
    having = set(busy.values_list("pk", flat=True))
    return [ShownEndpoint(row, health_of(row), row.pk in having) for row in endpoints]


def last_success(seat: Seat, endpoint: Endpoint) -> datetime | None:
    """Return when an endpoint last accepted an event, if that was among the mode's newest deliveries."""
    walk = DeliveryWalk(seat.merchant.pk, seat.mode, (DeliveryStatus.DELIVERED,))
    newest = delivery_keys(walk, rows=_LOOKED_AT)
    taken = Delivery.objects.filter(pk__in=newest, endpoint=endpoint)
    times = taken.order_by("-finished_at").values_list("finished_at", flat=True)
    return times.first()


def valid_secrets(seat: Seat, *, now: datetime) -> list[SigningSecret]:
    """Return the secrets that sign, the current one first, without their values."""
    valid = Q(expires_at=None) | Q(expires_at__gt=now)
    rows = SigningSecret.objects.filter(valid, merchant=seat.merchant).defer("sealed")
    return sorted(rows, key=lambda row: row.created_at, reverse=True)


def own_secrets(endpoint: Endpoint, *, now: datetime) -> list[SigningSecret]:
    """Return a listed endpoint's own secrets that sign, the current one first, without their values."""
    valid = Q(expires_at=None) | Q(expires_at__gt=now)
    return list(SigningSecret.objects.filter(valid, endpoint=endpoint).defer("sealed").order_by("-pk"))


def last_roll(seat: Seat) -> AuditEntry | None:
    """Return the audit log's entry of the last rotation of the secret."""
    entries = AuditEntry.objects.filter(merchant=seat.merchant, action=ROLLED)
    return entries.order_by("-pk").first()
