"""Records the results of attempts, in batches."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import uniform
from typing import Any

from django.db import connection, transaction

from gateway.core import json
from webhooks.delivery.claims import Claimed
from webhooks.delivery.formats import most_tries
from webhooks.endpoints.service import disable_endpoint
from webhooks.health import AttemptResult, Health, next_try_at
from webhooks.models import Delivery, Endpoint
from webhooks.states import DeliveryStatus

# Each row is sent as one JSON document: encoding arrays takes the driver longer than the database needs for everything.

# Nearly all deliveries are delivered, so the planner expects few others and looks for them first. In a backlog it then
# compares each of them with each result. `|| ''` hides the column from its statistics.

# A delivered event stays delivered, even if a later result is recorded.
_DELIVERED = """
UPDATE webhooks_delivery AS delivery
SET status = 'delivered', is_due = false, tries = tries + 1, finished_at = done.ended_at
FROM jsonb_to_recordset(%(rows)s::jsonb) AS done (delivery bigint, ended_at timestamptz)
WHERE delivery.id = done.delivery AND delivery.status || '' <> 'delivered'
"""

# Applies only to the attempt that was claimed: another sender or a manual retry may have recorded one first.
_FAILED = """
UPDATE webhooks_delivery AS delivery
SET tries = delivery.tries + 1,
    status = CASE WHEN done.next_at IS NULL THEN 'failed' ELSE delivery.status END,
    is_due = false,
    next_attempt_at = coalesce(done.next_at, delivery.next_attempt_at),
    finished_at = CASE WHEN done.next_at IS NULL THEN done.ended_at END
FROM jsonb_to_recordset(%(rows)s::jsonb)
    AS done (delivery bigint, tries bigint, next_at timestamptz, ended_at timestamptz)
WHERE delivery.id = done.delivery AND delivery.tries = done.tries AND delivery.status || '' IN ('pending', 'held')
"""

# Nothing was sent, and nothing will be, also if the endpoint was disabled meanwhile.
_UNTOLD = """
UPDATE webhooks_delivery AS delivery
SET status = 'cancelled', is_due = false, finished_at = done.ended_at
FROM jsonb_to_recordset(%(rows)s::jsonb) AS done (delivery bigint, ended_at timestamptz)
WHERE delivery.id = done.delivery AND delivery.status || '' IN ('pending', 'held')
"""

_INSERT_ATTEMPTS = """
INSERT INTO webhooks_attempt (
    delivery_id, started_at, duration_ms, status_code, error, request_headers, response_headers, response_body
)
SELECT delivery, started_at, duration_ms, status_code, error, request_headers, response_headers, response_body
FROM jsonb_to_recordset(%(rows)s::jsonb) AS attempt (
    delivery bigint, started_at timestamptz, duration_ms integer, status_code smallint, error text,
    request_headers jsonb, response_headers jsonb, response_body text
)
"""


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """An attempt: the request and its result."""

    claimed: Claimed
    answer: AttemptResult
    started_at: datetime
    duration: timedelta
    request_headers: Mapping[str, str]
    response_headers: Mapping[str, str]
    response_body: str = ""

    @property
    def ended_at(self) -> datetime:
        """Return when the answer arrived, or when waiting for it ended."""
        return self.started_at + self.duration


@transaction.atomic
def record(outcomes: Sequence[AttemptOutcome], *, troubled: Collection[int] = ()) -> None:
    """Write the attempts, the deliveries' next steps and the endpoints' health in one transaction.

    `troubled` names endpoints that were failing: a success must update their health, as every failure does.
    """
    sent = [outcome for outcome in outcomes if not outcome.answer.untold]
    news = set(troubled) | {o.claimed.endpoint for o in sent if not o.answer.succeeded}
    # Endpoints are locked before deliveries, as everywhere.
    endpoints = _locked_endpoints(sent, news)
    _record_deliveries(outcomes)
    _insert_attempts(sent)
    tries = defaultdict(list)
    for outcome in sent:
        tries[outcome.claimed.endpoint].append(outcome)
    for endpoint in endpoints:
        _record_health(endpoint, tries[endpoint.pk])


def _locked_endpoints(outcomes: Sequence[AttemptOutcome], news: Collection[int]) -> list[Endpoint]:
    wanted = {outcome.claimed.endpoint for outcome in outcomes} & set(news)
    if not wanted:
        return []
    rows = Endpoint.objects.select_for_update(no_key=True, of=("self",))
    return list(rows.select_related("merchant").filter(pk__in=wanted).order_by("pk"))


def _record_deliveries(outcomes: Sequence[AttemptOutcome]) -> None:
    # In id order, so that two senders never deadlock.
    ordered = sorted(outcomes, key=lambda outcome: outcome.claimed.delivery)
    untold = [_ended(one) for one in ordered if one.answer.untold]
    delivered = [_ended(one) for one in ordered if one.answer.succeeded]
    failed = [_failed(one) for one in ordered if not one.answer.succeeded and not one.answer.untold]
    if untold:
        _write(_UNTOLD, untold)
    if delivered:
        _write(_DELIVERED, delivered)
    if failed:
        _write(_FAILED, failed)


def _write(statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"rows": json.dumps(rows).decode()})


def _ended(outcome: AttemptOutcome) -> dict[str, Any]:
    return {"delivery": outcome.claimed.delivery, "ended_at": outcome.ended_at}


def _failed(outcome: AttemptOutcome) -> dict[str, Any]:
    return {
        "delivery": outcome.claimed.delivery,
        "ended_at": outcome.ended_at,
        "tries": outcome.claimed.tries,
        "next_at": _next_try(outcome),
    }


def _next_try(outcome: AttemptOutcome) -> datetime | None:
    return next_try_at(
        outcome.claimed.tries + 1,
        now=outcome.ended_at,
        spread=uniform(-1, 1),  # noqa: S311 - spreads load, hides nothing
        most=most_tries(outcome.claimed.format),
        retry_after=outcome.answer.retry_after,
    )


def _insert_attempts(outcomes: Sequence[AttemptOutcome]) -> None:
    if not outcomes:
        return
    _write(_INSERT_ATTEMPTS, [_attempt(outcome) for outcome in outcomes])


def _attempt(outcome: AttemptOutcome) -> dict[str, Any]:
    return {
        "delivery": outcome.claimed.delivery,
        "started_at": outcome.started_at,
        "duration_ms": outcome.duration // timedelta(milliseconds=1),
        "status_code": outcome.answer.status_code,
        "error": outcome.answer.error,
        "request_headers": dict(outcome.request_headers),
        "response_headers": dict(outcome.response_headers),
        "response_body": outcome.response_body,
    }


def _record_health(endpoint: Endpoint, outcomes: Sequence[AttemptOutcome]) -> None:
    if endpoint.disabled_at is not None:
        return
    health = Health(endpoint.consecutive_failures, endpoint.failing_since)
    reason = ""
    for outcome in sorted(outcomes, key=lambda outcome: outcome.ended_at):
        health = health.after(outcome.answer, at=outcome.ended_at)
        reason = reason or health.reason_to_disable(outcome.answer, at=outcome.ended_at)
    endpoint.consecutive_failures = health.consecutive_failures
    endpoint.failing_since = health.failing_since
    endpoint.next_probe_at = _next_probe(endpoint) if health.on_probation else None
    if health.failing_since is None:
        endpoint.owner_told_at = None
    endpoint.save(update_fields=["consecutive_failures", "failing_since", "next_probe_at", "owner_told_at"])
    if reason:
        last = max(outcome.ended_at for outcome in outcomes)
        disable_endpoint(endpoint, reason=reason, now=last)


def _next_probe(endpoint: Endpoint) -> datetime | None:
    """Return when the endpoint's oldest delivery is due; None if nothing waits, so that the next event is the probe."""
    waiting = Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.PENDING)
    return waiting.order_by("pk").values_list("next_attempt_at", flat=True).first()
