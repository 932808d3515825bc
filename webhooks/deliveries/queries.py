"""Queries of a merchant's deliveries for the API: filters, pages, totals, and the newest attempts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db.models import Prefetch, Q, QuerySet

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.pagination import Page, parse_page, parse_text
from webhooks.listed.service import DEFAULT_ID
from webhooks.models import FAILING, Attempt, Delivery, Endpoint
from webhooks.outbox.delivery_pages import DeliveryWalk, Position, delivery_keys
from webhooks.states import DeliveryStatus

STATUS_FAILING: Final = "failing"
"""In place of a status: pending, and it failed at least once."""
STATUSES: Final = (*DeliveryStatus.values, STATUS_FAILING)
"""What a list can be narrowed to by `status`."""
MOST_SEARCHED: Final = 10_000
"""How many of the newest deliveries an endpoint's are looked for among: no index lists a delivered one by its endpoint."""
MOST_ATTEMPTS: Final = 20
"""How many attempts a delivery shows: twelve are automatic, and people may ask for any number."""

_NEWEST_FIRST: Final = ("-created_at", "-pk")


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """The filters of a list of deliveries. Empty texts exclude nothing; `status` is one of STATUSES."""

    merchant_id: int
    mode: Mode
    status: str = ""
    event_type: str = ""
    event_id: str = ""
    checkout_id: str = ""
    endpoint_id: str = ""


def parse_filter(merchant_id: int, mode: Mode, query: Mapping[str, str]) -> tuple[DeliveryFilter, Page]:
    """Read a list's query string. Raises InvalidRequestError."""
    wanted = DeliveryFilter(
        merchant_id=merchant_id,
        mode=mode,
        status=_one_of(query, "status", STATUSES),
        event_type=_one_of(query, "event_type", settings.WEBHOOK_EVENT_TYPES),
        event_id=parse_text(query, "event_id") or "",
        checkout_id=parse_text(query, "checkout_id") or "",
        endpoint_id=parse_text(query, "endpoint_id") or "",
    )
    return wanted, parse_page(query)


def delivery_page(wanted: DeliveryFilter, page: Page) -> list[Delivery]:
    """Return a page of deliveries with their events and endpoints, newest first.

    `newest` of each has its newest attempt, if there is one. Raises InvalidRequestError for an unknown `starting_after`.
    """
    before, offset = None, page.offset
    if page.starting_after is not None:
        before, offset = _position(wanted, page.starting_after), 0
    found = _narrowed(wanted)
    if found is None:
        keys = delivery_keys(_walk(wanted), rows=page.limit, before=before, skipped=offset)
        return list(_shown(wanted).filter(pk__in=keys).order_by(*_NEWEST_FIRST))
    if before is not None:
        moment, key = before
        found = found.filter(Q(created_at__lt=moment) | Q(created_at=moment, pk__lt=key))
    return list(found.order_by(*_NEWEST_FIRST)[offset : offset + page.limit])


def delivery_total(wanted: DeliveryFilter) -> int:
    """Return how many deliveries match; of an endpoint's, those among the MOST_SEARCHED newest."""
    found = _narrowed(wanted)
    return (_plain(wanted) if found is None else found).count()


def delivery_named(merchant_id: int, mode: Mode, public_id: str) -> Delivery:
    """Return one delivery as in a page. Raises NotFoundError, also for another merchant's or mode's."""
    found = _shown(DeliveryFilter(merchant_id, mode)).filter(public_id=public_id).first()
    if found is None:
        raise NotFoundError("There is no such webhook delivery here.", param="delivery_id")
    return found


def newest_attempts(delivery: Delivery) -> list[Attempt]:
    """Return a delivery's attempts, newest first, at most MOST_ATTEMPTS."""
    return list(delivery.attempts.order_by("-pk")[:MOST_ATTEMPTS])


def _narrowed(wanted: DeliveryFilter) -> QuerySet[Delivery] | None:
    """Return the deliveries that match where an index finds them at once; None where the walk finds them."""
    if not (wanted.event_id or wanted.checkout_id or wanted.endpoint_id or wanted.status == STATUS_FAILING):
        return None
    found = _plain(wanted, _shown(wanted))
    if wanted.event_id:
        found = found.filter(event__public_id=wanted.event_id)
    if wanted.checkout_id:
        found = found.filter(event__subject_id=wanted.checkout_id)
    return _to_endpoint(found, wanted) if wanted.endpoint_id else found


def _to_endpoint(found: QuerySet[Delivery], wanted: DeliveryFilter) -> QuerySet[Delivery]:
    named = (
        Q(is_default=True) if wanted.endpoint_id == DEFAULT_ID else Q(is_default=False, public_id=wanted.endpoint_id)
    )
    endpoint = Endpoint.objects.filter(named, merchant=wanted.merchant_id, mode=wanted.mode).first()
    if endpoint is None:
        return found.none()
    if not (wanted.event_id or wanted.checkout_id):
        found = found.filter(pk__in=_newest_keys(wanted))
    return found.filter(endpoint=endpoint)


def _newest_keys(wanted: DeliveryFilter) -> Sequence[int]:
    if wanted.status != STATUS_FAILING:
        return delivery_keys(_walk(wanted), rows=MOST_SEARCHED)
    newest = _plain(wanted).order_by(*_NEWEST_FIRST)
    return list(newest.values_list("pk", flat=True)[:MOST_SEARCHED])


def _plain(wanted: DeliveryFilter, found: QuerySet[Delivery] | None = None) -> QuerySet[Delivery]:
    """Return the merchant's deliveries with the filters of the delivery's own columns."""
    found = _mine(wanted) if found is None else found
    if wanted.status == STATUS_FAILING:
        found = found.filter(FAILING)
    elif wanted.status:
        found = found.filter(status=wanted.status)
    return found.filter(event_type=wanted.event_type) if wanted.event_type else found


def _walk(wanted: DeliveryFilter) -> DeliveryWalk:
    statuses = (wanted.status,) if wanted.status else tuple(DeliveryStatus)
    return DeliveryWalk(wanted.merchant_id, wanted.mode, statuses, type=wanted.event_type)


def _mine(wanted: DeliveryFilter) -> QuerySet[Delivery]:
    return Delivery.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)


def _shown(wanted: DeliveryFilter) -> QuerySet[Delivery]:
    # A page of bodies would be megabytes, and `GET /events` has them.
    found = _mine(wanted).select_related("event", "endpoint").defer("event__body")
    newest = Attempt.objects.order_by("delivery", "-pk").distinct("delivery")
    columns = newest.only("delivery_id", "started_at", "duration_ms", "status_code", "error")
    return found.prefetch_related(Prefetch("attempts", columns, to_attr="newest"))


def _position(wanted: DeliveryFilter, public_id: str) -> Position:
    rows = _mine(wanted).filter(public_id=public_id)
    position = rows.values_list("created_at", "pk").first()
    if position is None:
        raise InvalidRequestError("starting_after names no webhook delivery of yours.", param="starting_after")
    return position


def _one_of(query: Mapping[str, str], name: str, known: Collection[str]) -> str:
    text = parse_text(query, name) or ""
    if text and text not in known:
        raise InvalidRequestError(f"{name} must be one of {', '.join(known)}.", param=name)
    return text
