"""The list of deliveries: its filters, its pages, and one delivery with its tries."""

import pytest

from tests.dashboard.people import Desk
from tests.webhooks.dashboard.desks import open_delivery
from tests.webhooks.factories import make_attempt, make_deliveries, make_failed
from webhooks.models import Delivery, Endpoint
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


def test_the_list_is_filtered_by_status_type_and_checkout(viewer: Desk, endpoint: Endpoint) -> None:
    failed, waiting = make_failed(endpoint)[0], make_deliveries(endpoint)[0]
    Delivery.objects.filter(pk=waiting.pk).update(event_type="checkout.expired")

    def shown(query: str) -> set[str]:
        rows = viewer.get("dashboard_deliveries", query).context["rows"]
        return {row.row.public_id for row in rows}

    both = {failed.public_id, waiting.public_id}
    assert shown("") == both
    assert shown("?status=nonsense&after=x&before=%00") == both
    assert shown("?status=failed") == {failed.public_id}
    assert shown("?status=held") == set()
    assert shown("?type=checkout.expired") == {waiting.public_id}
    assert shown("?type=checkout.expired&status=failed") == set()
    assert shown(f"?q={failed.event.subject_id}") == {failed.public_id}
    assert shown(f"?q={failed.event.subject_id}&status=pending") == set()
    assert shown(f"?q={waiting.public_id}") == {waiting.public_id}
    assert shown(f"?q={waiting.event.public_id}") == {waiting.public_id}


def test_pages_of_the_list_meet_without_gaps_or_repeats(viewer: Desk, endpoint: Endpoint) -> None:
    rows = make_deliveries(endpoint, 60)
    # Several of the same instant, and of two statuses, whose order is by key.
    Delivery.objects.filter(pk__in=[row.pk for row in rows[::3]]).update(status=DeliveryStatus.DELIVERED)
    wanted = [row.pk for row in reversed(rows)]
    seen, query, pages = [], "", []
    while True:
        page = viewer.get("dashboard_deliveries", query).context
        pages.append([shown.row.pk for shown in page["rows"]])
        seen += pages[-1]
        if not page["pager"].older:
            break
        query = "?" + page["pager"].older
    assert seen == wanted
    back = viewer.get("dashboard_deliveries", "?" + page["pager"].newer).context
    assert [shown.row.pk for shown in back["rows"]] == pages[-2]


def test_a_delivery_shows_each_try_and_why_it_failed(viewer: Desk, endpoint: Endpoint) -> None:
    [delivery] = make_failed(endpoint)
    make_attempt(delivery, status_code=None, error="connection_refused", duration_ms=3)
    page = open_delivery(viewer, delivery).text
    assert "500 Internal Server Error" in page
    assert "out of coffee" in page
    assert "nginx" in page
    assert "87 ms" in page
    assert "Nothing listens there" in page
    assert delivery.event.subject_id in page
    assert "Send again" not in page
