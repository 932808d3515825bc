"""Which events a list has, in which order, and at what cost."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.scopes import Scope
from gateway.restores.service import note_restore
from tests.factories import NOON, make_key, make_merchant
from tests.webhooks.factories import new_event
from webhooks.models import Event
from webhooks.outbox.events import publish
from webhooks.selectors import OPENED_BY, closed_types

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.webhooks.routes")]


def get(merchant: Merchant, query: str = "", mode: Mode = Mode.LIVE, *, scopes: Sequence[str] = ()) -> Any:
    _, key = make_key(merchant, mode, *scopes)
    response = Client().get(f"/api/v1/events{query}", headers={"Authorization": f"Bearer {key}"})
    return response


def sequences(response: Any) -> list[int]:
    assert response.status_code == 200, response.content
    return [event["sequence"] for event in response.json()["data"]]


_MANY_EVENTS = """
    INSERT INTO webhooks_event
        (public_id, merchant_id, mode, type, subject_id, occurrence, sequence, body, created_at)
    SELECT 'evt_' || n, %s, 'live', 'checkout.completed', '', n, n, '', now() FROM generate_series(2, 20000) n
"""


def test_after_lists_forward_from_a_sequence(merchant: Merchant) -> None:
    publish([new_event(merchant) for _ in range(5)], now=NOON)
    response = get(merchant, "?after=2&limit=2")
    assert sequences(response) == [3, 4]
    assert response.json()["total"] == 3
    assert sequences(get(merchant, "?after=4")) == [5]
    assert sequences(get(merchant, "?after=5")) == []


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("?offset=3", [2, 1]),
        ("?offset=5", []),
        ("?offset=2147483647", []),
        ("?after=1&offset=2", [4, 5]),
        ("?after=9223372036854775807&offset=2147483647", []),
    ],
)
def test_an_offset_counts_from_where_the_list_begins(merchant: Merchant, query: str, listed: list[int]) -> None:
    publish([new_event(merchant) for _ in range(5)], now=NOON)
    publish([new_event(make_merchant())], now=NOON)
    assert sequences(get(merchant, query)) == listed


@pytest.mark.parametrize(
    ("query", "listed", "total"),
    [
        ("", [1_000_004, 3, 2, 1], 4),
        ("?offset=3", [1], 4),
        ("?offset=4", [], 4),
        ("?after=1", [2, 3, 1_000_004], 3),
        ("?after=1&offset=2", [1_000_004], 3),
        ("?after=1&offset=5", [], 3),
    ],
)
def test_the_numbers_that_a_restore_skipped_are_neither_counted_nor_paged_over(
    merchant: Merchant, query: str, listed: list[int], total: int
) -> None:
    publish([new_event(merchant) for _ in range(3)], now=NOON)
    note_restore(NOON, now=NOON)
    answer = get(merchant, query)
    assert (sequences(answer), answer.json()["total"]) == (listed, total)


def test_a_rare_type_is_found_without_reading_the_others(merchant: Merchant) -> None:
    publish([new_event(merchant, type="x402.payment.reversed")], now=NOON)
    with connection.cursor() as cursor:
        cursor.execute(_MANY_EVENTS, [merchant.pk])
        cursor.execute("ANALYZE webhooks_event")
    with CaptureQueriesContext(connection) as queries:
        assert sequences(get(merchant, "?type=x402.payment.reversed")) == [1]
    asked = [one["sql"] for one in queries if '"webhooks_event"."type"' in one["sql"]]
    assert len(asked) == 2
    with connection.cursor() as cursor:
        for statement in asked:
            cursor.execute(f"EXPLAIN {statement}")
            assert "events_by_type" in str(cursor.fetchall())


def test_events_are_filtered_by_type_and_checkout(merchant: Merchant) -> None:
    batch = [new_event(merchant), new_event(merchant, type="checkout.expired"), new_event(merchant)]
    publish(batch, now=NOON)
    expired = get(merchant, "?type=checkout.expired")
    assert sequences(expired) == [2]
    assert expired.json()["total"] == 1
    assert sequences(get(merchant, f"?checkout_id={batch[2].subject_id}")) == [3]
    refused = get(merchant, "?type=unheard.of")
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "type")


def test_starting_after_pages_by_key_in_either_direction(merchant: Merchant) -> None:
    rows = publish([new_event(merchant) for _ in range(4)], now=NOON)
    seen = rows[1].public_id
    assert sequences(get(merchant, f"?starting_after={seen}")) == [1]
    assert sequences(get(merchant, f"?after=0&starting_after={seen}")) == [3, 4]


def test_another_merchants_events_and_the_other_modes_are_invisible(merchant: Merchant) -> None:
    stranger = make_merchant()
    (secret,) = publish([new_event(stranger)], now=NOON)
    publish([new_event(merchant, mode=Mode.TEST)], now=NOON)
    assert get(merchant).json()["data"] == []
    assert get(merchant).json()["total"] == 0
    assert len(sequences(get(merchant, mode=Mode.TEST))) == 1
    refused = get(merchant, f"?starting_after={secret.public_id}")
    assert refused.status_code == 400
    assert Event.objects.count() == 2


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("?after=-1", "after"),
        ("?after=x", "after"),
        ("?after=9999999999999999999", "after"),
        ("?after=٣", "after"),
        ("?limit=0", "limit"),
        ("?limit=101", "limit"),
        ("?starting_after=evt_none", "starting_after"),
    ],
)
def test_a_parameter_out_of_range_is_named(merchant: Merchant, query: str, param: str) -> None:
    response = get(merchant, query)
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["code"], error["param"]) == ("parameter_invalid", param)


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


def test_one_event_is_byte_for_byte_what_was_sent(merchant: Merchant) -> None:
    (event,) = publish([new_event(merchant)], now=NOON)
    assert get(merchant, f"/{event.public_id}").content == event.body
    for mode, other in ((Mode.TEST, merchant), (Mode.LIVE, make_merchant())):
        hidden = get(other, f"/{event.public_id}", mode=mode)
        assert (hidden.status_code, hidden.json()["error"]["param"]) == (404, "event_id")
    assert get(merchant, "/evt_nobody").status_code == 404


def test_the_total_may_be_left_out(merchant: Merchant) -> None:
    assert "total" not in get(merchant, "?include_total=false").json()


# In this order, so that what is left out is at the ends and in the middle.
MIXED = ["inbox.opened", "checkout.completed", "refund.paid", "payout.ended", "checkout.expired", "inbox.closed"]
PLAIN = [Scope.EVENTS_READ]


@pytest.fixture
def mixed(merchant: Merchant) -> list[Event]:
    """Events of all kinds, numbered from 1."""
    return publish([new_event(merchant, type=name) for name in MIXED], now=NOON)


@pytest.mark.parametrize(
    ("scopes", "listed"),
    [
        (PLAIN, [5, 2]),
        ([*PLAIN, Scope.INBOX_READ], [6, 5, 2, 1]),
        ([*PLAIN, Scope.PAYOUTS_READ], [5, 4, 3, 2]),
        ([*PLAIN, Scope.PAYOUTS_REQUEST, Scope.CHECKOUTS_READ], [5, 2]),
        ([*PLAIN, Scope.INBOX_READ, Scope.PAYOUTS_READ], [6, 5, 4, 3, 2, 1]),
    ],
)
def test_a_list_leaves_out_what_other_scopes_open(
    merchant: Merchant, mixed: list[Event], scopes: list[str], listed: list[int]
) -> None:
    answer = get(merchant, scopes=scopes)
    assert (sequences(answer), answer.json()["total"]) == (listed, len(listed))
    for event in mixed:
        status = get(merchant, f"/{event.public_id}", scopes=scopes).status_code
        assert status == (200 if event.sequence in listed else 404)


@pytest.mark.parametrize(
    ("query", "listed", "total"),
    [
        ("?limit=1", [5], 2),
        ("?offset=1", [2], 2),
        ("?offset=2", [], 2),
        ("?after=0", [2, 5], 2),
        ("?after=0&offset=1", [5], 2),
        ("?after=2", [5], 1),
        ("?after=5", [], 0),
        ("?after=100", [], 0),
        ("?type=inbox.opened", [], 0),
        ("?type=checkout.expired", [5], 1),
    ],
)
@pytest.mark.usefixtures("mixed")
def test_what_is_left_out_is_neither_counted_nor_paged_over(
    merchant: Merchant, query: str, listed: list[int], total: int
) -> None:
    answer = get(merchant, query, scopes=PLAIN)
    assert (sequences(answer), answer.json()["total"]) == (listed, total)


@pytest.mark.parametrize("forward", ["", "&after=0"])
def test_pages_by_key_reach_each_event_that_a_key_may_read(
    merchant: Merchant, mixed: list[Event], forward: str
) -> None:
    seen: list[int] = []
    ids = {event.sequence: event.public_id for event in mixed}
    query = "?limit=1" + forward
    while found := sequences(get(merchant, query, scopes=PLAIN)):
        seen += found
        query = f"?limit=1{forward}&starting_after={ids[found[0]]}"
    assert seen == ([2, 5] if forward else [5, 2])
    # One that is left out is no place to go on from, like an unknown one.
    refused = get(merchant, f"?starting_after={ids[1]}", scopes=PLAIN)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "starting_after")


def test_each_type_is_opened_by_a_scope_or_by_that_of_events() -> None:
    """A new kind of subject is thought about here."""
    kinds = {name.partition(".")[0] for name in settings.WEBHOOK_EVENT_TYPES}
    assert kinds - set(OPENED_BY) == {"checkout", "x402", "gateway", "system"}
    assert closed_types(list(Scope)) == []
    assert {name.partition(".")[0] for name in closed_types([])} == set(OPENED_BY)
