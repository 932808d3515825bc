"""GET /api/v1/events: what was sent, or should have been."""

import pytest
from django.test import Client

from accounts.models import Merchant
from tests.factories import NOON, make_key
from tests.webhooks.factories import new_event
from tests.webhooks.lists import get, sequences
from webhooks.outbox.events import publish

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.webhooks.routes")]


def test_events_are_listed_newest_first_with_their_total(merchant: Merchant) -> None:
    publish([new_event(merchant) for _ in range(3)], now=NOON)
    response = get(merchant, "?limit=2")
    assert sequences(response) == [3, 2]
    body = response.json()
    assert (body["total"], body["limit"], body["offset"]) == (3, 2, 0)
    assert sequences(get(merchant, "?limit=2&offset=2")) == [1]


def test_an_element_is_byte_for_byte_what_was_sent(merchant: Merchant) -> None:
    (event,) = publish([new_event(merchant)], now=NOON)
    response = get(merchant, "?after=0")
    assert response.content == b'{"data":[' + event.body + b'],"total":1,"limit":20,"offset":0}'


def test_the_total_may_be_left_out(merchant: Merchant) -> None:
    assert "total" not in get(merchant, "?include_total=false").json()


def test_a_key_is_needed() -> None:
    response = Client().get("/api/v1/events")
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "key_missing"


def test_the_61st_request_of_a_minute_is_refused(merchant: Merchant) -> None:
    _, key = make_key(merchant)
    client = Client(headers={"Authorization": f"Bearer {key}"})
    first = client.get("/api/v1/events")
    assert first["X-RateLimit-Limit"] == "60"
    # Twice sixty and one more: wherever the minute turns over, one window gets its 61st.
    statuses = [client.get("/api/v1/events").status_code for _ in range(121)]
    assert 429 in statuses
    assert statuses[:59].count(429) == 0
