"""The API of deliveries: which it lists by each filter, how it pages, and what it never shows."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Merchant
from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import HOOK, make_attempt, make_deliveries, make_endpoint, make_failed
from webhooks.deliveries import queries
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db
PATH = "/webhook_deliveries"


@pytest.fixture
def seller(merchant: Merchant) -> ApiClient:
    """The merchant's live key."""
    return client_of(merchant, Mode.LIVE)


def listed(client: ApiClient, **query: Any) -> list[str]:
    """The ids of a list; its total is their number where it is one page."""
    answer = client.get(PATH, query)
    assert answer.status == 200, answer.raw
    return [each["id"] for each in answer.body["data"]]


def ids(*rows: Delivery) -> list[str]:
    return [row.public_id for row in rows]


def test_a_delivery_says_where_it_stands_and_how_its_last_try_ended(seller: ApiClient, merchant: Merchant) -> None:
    [row] = make_deliveries(make_endpoint(merchant, HOOK))
    [fresh] = seller.get(PATH).body["data"]
    assert fresh == {
        "id": row.public_id,
        "event_id": row.event.public_id,
        "event_type": "checkout.completed",
        "checkout_id": row.event.subject_id,
        "endpoint_id": "whe_default",
        "url": HOOK,
        "status": "pending",
        "tries": 0,
        "next_attempt_at": "2026-11-20T12:00:00.000000Z",
        "finished_at": None,
        "last_attempt": None,
        "livemode": True,
        "created_at": "2026-11-20T12:00:00.000000Z",
    }
    make_attempt(row, status_code=None, error="timeout")
    make_attempt(row, started_at=NOON + timedelta(seconds=5))
    Delivery.objects.update(tries=2, status=DeliveryStatus.FAILED, finished_at=NOON)
    [failed] = seller.get(PATH).body["data"]
    assert failed["last_attempt"] == {
        "started_at": "2026-11-20T12:00:05.000000Z",
        "duration_ms": 87,
        "status_code": 500,
        "error": None,
    }
    assert (failed["next_attempt_at"], failed["finished_at"]) == (None, "2026-11-20T12:00:00.000000Z")


def test_one_delivery_has_its_attempts_with_what_was_answered_newest_first(
    seller: ApiClient, merchant: Merchant
) -> None:
    [row] = make_deliveries(make_endpoint(merchant))
    make_attempt(row, status_code=None, error="timeout", response_headers={}, response_body="")
    make_attempt(row)
    answer = seller.get(f"{PATH}/{row.public_id}").body
    assert [(each["status_code"], each["error"], each["response_body"]) for each in answer["attempts"]] == [
        (500, None, "out of coffee"),
        (None, "timeout", ""),
    ]
    assert answer["attempts"][0]["response_headers"] == {"Server": "nginx"}
    [listed_one] = seller.get(PATH).body["data"]
    assert {name: answer[name] for name in listed_one} == listed_one


def test_only_the_newest_attempts_are_shown(
    seller: ApiClient, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_ATTEMPTS", 2)
    [row] = make_deliveries(make_endpoint(merchant))
    for code in (500, 501, 502):
        make_attempt(row, status_code=code)
    attempts = seller.get(f"{PATH}/{row.public_id}").body["attempts"]
    assert [each["status_code"] for each in attempts] == [502, 501]


def test_no_answer_has_a_signature_a_mail_address_or_a_urls_secret(seller: ApiClient, merchant: Merchant) -> None:
    endpoint = make_endpoint(merchant, "https://ann:hidden@shop.example/hook?key=hidden#hidden")
    [row] = make_deliveries(endpoint)
    make_attempt(
        row,
        request_headers={"webhook-signature": "v1,hidden", "X-Service-Signature": "t=1,v1=hidden"},
        response_headers={"Location": "/r?to=hidden%40buyer.example"},
        response_body='{"to": "hidden@buyer.example"}',
    )
    one = seller.get(f"{PATH}/{row.public_id}")
    assert one.body["url"] == "https://shop.example/hook"
    assert "buyer.example" in one.body["attempts"][0]["response_body"]
    for answer in (one, seller.get(PATH)):
        assert b"hidden" not in answer.raw


@pytest.fixture
def rows(merchant: Merchant) -> dict[str, Delivery]:
    """One delivery in each state, by its name; the oldest first, an hour apart."""
    named = ("delivered", "failed", "held", "cancelled", "waiting", "failing")
    found = dict(zip(named, make_deliveries(make_endpoint(merchant, HOOK), len(named)), strict=True))
    for number, (name, row) in enumerate(found.items()):
        row.status = name if name in DeliveryStatus.values else DeliveryStatus.PENDING
        row.tries = int(name == "failing")
        row.created_at = NOON + number * timedelta(hours=1)
        row.save()
    return found


def test_the_newest_is_first_and_each_status_has_a_list(seller: ApiClient, rows: dict[str, Delivery]) -> None:
    newest_first = list(reversed(rows.values()))
    assert listed(seller) == ids(*newest_first)
    assert seller.get(PATH).body["total"] == 6
    for name in ("delivered", "failed", "held", "cancelled", "failing"):
        assert listed(seller, status=name) == ids(rows[name])
        assert seller.get(PATH, {"status": name}).body["total"] == 1
    assert listed(seller, status="pending") == ids(rows["failing"], rows["waiting"])


@pytest.mark.parametrize("query", [{}, {"endpoint_id": "whe_default"}])
def test_a_list_pages_by_offset_and_by_key(seller: ApiClient, rows: dict[str, Delivery], query: dict[str, str]) -> None:
    newest_first = ids(*reversed(rows.values()))
    assert listed(seller, limit=2, offset=3, **query) == newest_first[3:5]
    assert listed(seller, limit=2, starting_after=newest_first[1], **query) == newest_first[2:4]
    # By key an offset counts for nothing, as in other lists.
    assert listed(seller, limit=2, starting_after=newest_first[3], offset=4, **query) == newest_first[4:]
    assert listed(seller, starting_after=newest_first[5], **query) == []
    assert listed(seller, offset=2**31 - 1, **query) == []
    assert seller.get(PATH, {"limit": 2, **query}).body["total"] == 6


def test_deliveries_of_one_moment_page_by_key(seller: ApiClient, merchant: Merchant) -> None:
    newest_first = ids(*reversed(make_deliveries(make_endpoint(merchant), 3)))
    for query in ({}, {"endpoint_id": "whe_default"}):
        assert listed(seller, limit=1, starting_after=newest_first[0], **query) == newest_first[1:2]


def test_an_events_and_a_checkouts_deliveries_are_found(seller: ApiClient, merchant: Merchant) -> None:
    first, second = make_deliveries(make_endpoint(merchant, HOOK), 2)
    assert listed(seller, event_id=first.event.public_id) == ids(first)
    assert listed(seller, checkout_id=second.event.subject_id) == ids(second)
    assert listed(seller, checkout_id=second.event.subject_id, event_id=first.event.public_id) == []
    assert listed(seller, event_id=first.event.public_id, status="failed") == []
    assert listed(seller, event_type="checkout.completed") == ids(second, first)
    assert listed(seller, event_type="checkout.expired") == []
    assert listed(seller, event_type="checkout.expired", event_id=first.event.public_id) == []


def test_an_endpoints_deliveries_are_found_by_its_id(seller: ApiClient, merchant: Merchant) -> None:
    added = make_endpoint(merchant, HOOK, is_default=False, public_id="whe_added", events=["checkout.expired"])
    named = make_endpoint(merchant, "https://once.example/", is_default=False)
    [to_default] = make_deliveries(make_endpoint(merchant))
    [to_added] = make_failed(added)
    [to_named] = make_deliveries(named)
    assert listed(seller, endpoint_id="whe_default") == ids(to_default)
    assert listed(seller, endpoint_id="whe_added") == ids(to_added)
    assert listed(seller, endpoint_id="whe_added", status="failed") == ids(to_added)
    assert listed(seller, endpoint_id="whe_added", status="failing") == []
    assert listed(seller, endpoint_id="whe_added", event_id=to_default.event.public_id) == []
    assert listed(seller, endpoint_id="whe_nobodys") == []
    told = {each["id"]: each["endpoint_id"] for each in seller.get(PATH).body["data"]}
    assert told[to_named.public_id] is None


def test_an_endpoints_deliveries_are_looked_for_among_the_newest(
    seller: ApiClient, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_SEARCHED", 3)
    endpoint = make_endpoint(merchant)
    rows = make_deliveries(endpoint, 5)
    assert listed(seller, endpoint_id="whe_default") == ids(*rows[:1:-1])
    assert seller.get(PATH, {"endpoint_id": "whe_default"}).body["total"] == 3
    # Not where an index finds them.
    assert listed(seller, endpoint_id="whe_default", event_id=rows[0].event.public_id) == ids(rows[0])
    Delivery.objects.update(tries=1)
    assert listed(seller, endpoint_id="whe_default", status="failing") == ids(*rows[:1:-1])


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"status": "lost"}, "status"),
        ({"event_type": "unheard.of"}, "event_type"),
        ({"event_id": "evt_\0"}, "event_id"),
        ({"endpoint_id": "whe_\0"}, "endpoint_id"),
        ({"starting_after": "whd_none"}, "starting_after"),
        ({"limit": "101"}, "limit"),
    ],
)
def test_a_parameter_that_is_none_is_named(seller: ApiClient, query: dict[str, str], param: str) -> None:
    assert seller.get(PATH, query).refusal == (400, "parameter_invalid", param)


def test_another_merchants_and_the_other_modes_look_as_if_nothing_was_there(
    seller: ApiClient, merchant: Merchant
) -> None:
    [row] = make_deliveries(make_endpoint(merchant))
    for stranger in (client_of(merchant, Mode.TEST), client_of(make_merchant(), Mode.LIVE)):
        assert listed(stranger) == []
        assert stranger.get(f"{PATH}/{row.public_id}").refusal == (404, "resource_missing", "delivery_id")
        assert stranger.get(PATH, {"starting_after": row.public_id}).status == 400
    assert seller.get(f"{PATH}/{row.public_id}").status == 200


def test_without_the_merchant_and_mode_in_the_question_a_stranger_would_see_it(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test above."""
    [row] = make_deliveries(make_endpoint(merchant))
    monkeypatch.setattr(queries, "_mine", lambda _wanted: Delivery.objects.all())
    assert client_of(make_merchant(), Mode.LIVE).get(f"{PATH}/{row.public_id}").status == 200


def test_a_page_takes_as_many_queries_for_many_as_for_one(seller: ApiClient, merchant: Merchant) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as found:
            assert seller.get(PATH).body["data"]
        assert not any('"webhooks_event"."body"' in query["sql"] for query in found)
        return len(found)

    endpoint = make_endpoint(merchant)
    make_failed(endpoint)
    listed(seller)
    of_one = asked()
    make_failed(endpoint, 5)
    assert asked() == of_one


def test_nothing_can_be_written(seller: ApiClient, merchant: Merchant) -> None:
    [row] = make_deliveries(make_endpoint(merchant))
    for method in ("POST", "PATCH", "DELETE"):
        assert seller.send(method, f"{PATH}/{row.public_id}", b"{}").status == 405
