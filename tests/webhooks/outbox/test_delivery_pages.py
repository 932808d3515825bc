"""Walks over a merchant's deliveries: their order, their bounds, and that depth costs nothing."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Merchant
from accounts.states import Mode
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.models import Delivery
from webhooks.outbox.delivery_pages import DeliveryWalk, delivery_keys, event_types
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def test_a_walk_merges_statuses_and_types_in_the_order_of_time(merchant: Merchant) -> None:
    rows = make_deliveries(make_endpoint(merchant), 12)
    make_deliveries(make_endpoint(make_merchant()), 2)
    for number, row in enumerate(rows):
        row.created_at = NOON + number // 2 * HOUR
        row.status = DeliveryStatus.values[number % 4]
        row.event_type = ("checkout.completed", "checkout.expired", "other")[number % 3]
        row.save()
    keys = [row.pk for row in sorted(rows, key=lambda row: (row.created_at, row.pk))]
    walk = DeliveryWalk(merchant.pk, Mode.LIVE)
    middle = (Delivery.objects.get(pk=keys[5]).created_at, keys[5])
    assert delivery_keys(walk, rows=99) == keys[::-1]
    assert delivery_keys(walk, rows=3) == keys[:-4:-1]
    assert delivery_keys(walk, rows=3, before=middle) == keys[4:1:-1]
    assert delivery_keys(walk, rows=3, after=middle) == keys[6:9]
    hours = replace(walk, since=NOON + HOUR, until=NOON + 3 * HOUR)
    assert delivery_keys(hours, rows=99) == keys[5:1:-1]
    assert delivery_keys(hours, rows=99, after=middle) == []
    assert delivery_keys(replace(walk, type="other"), rows=99) == [
        row.pk for row in reversed(rows) if row.event_type == "other"
    ]
    assert event_types(walk) == ["checkout.completed", "checkout.expired", "other"]
    assert delivery_keys(DeliveryWalk(merchant.pk, Mode.TEST), rows=9) == []


# One event to each of many endpoints: 20,000 deliveries, one of a thousand of which failed.
_ENDPOINTS = """
INSERT INTO webhooks_endpoint
    (merchant_id, mode, url, is_default, consecutive_failures, disabled_reason, served_by, created_at)
SELECT %(merchant)s, 'live', 'https://shop.example/' || number, false, 0, '', '', %(noon)s
FROM generate_series(1, 20000) AS number
"""
_DELIVERIES = """
INSERT INTO webhooks_delivery (
    public_id, event_id, endpoint_id, status, tries, next_attempt_at, is_due,
    merchant_id, mode, event_type, created_at
)
SELECT 'whd_many_' || row_number() OVER (ORDER BY id), %(event)s, id,
    CASE WHEN id %% 1000 = 0 THEN 'failed' ELSE 'delivered' END, 1, %(noon)s, false,
    %(merchant)s, 'live', 'checkout.completed',
    %(noon)s::timestamptz + row_number() OVER (ORDER BY id) * interval '1 minute'
FROM webhooks_endpoint WHERE merchant_id = %(merchant)s
"""


def blocks_read(walk: DeliveryWalk, at: Delivery) -> int:
    """How many pages of the database a page of 25 before a delivery takes."""
    with CaptureQueriesContext(connection) as queries:
        assert len(delivery_keys(walk, rows=25, before=(at.created_at, at.pk))) > 10
    [query] = queries.captured_queries
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query['sql']}")
        plan = cursor.fetchone()[0]
    [plan] = orjson.loads(plan) if isinstance(plan, str) else plan
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def test_the_last_page_and_the_rarest_status_cost_what_the_first_page_costs(merchant: Merchant) -> None:
    [one] = make_deliveries(make_endpoint(make_merchant()))
    values: dict[str, Any] = {"merchant": merchant.pk, "event": one.event_id, "noon": NOON}
    with connection.cursor() as cursor:
        cursor.execute(_ENDPOINTS, values)
        cursor.execute(_DELIVERIES, values)
        cursor.execute("ANALYZE webhooks_delivery")
    ordered = Delivery.objects.filter(merchant=merchant).order_by("created_at")
    newest, old = ordered.reverse()[0], ordered[30]
    walk = DeliveryWalk(merchant.pk, Mode.LIVE)
    assert blocks_read(walk, newest) < 100
    assert blocks_read(walk, old) < 100
    failed = replace(walk, statuses=[DeliveryStatus.FAILED])
    assert blocks_read(failed, newest) < 100
    early = replace(walk, since=NOON, until=NOON + HOUR)
    assert blocks_read(early, newest) < 100
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX delivery_listed")
    assert blocks_read(walk, old) > 100
