"""GET /checkouts/{id}."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.till.terminals import make_terminal
from tests.contract.client import ApiClient, client_of
from tests.contract.payments import BRING_TO, pay
from tests.contract.reading import read
from tests.contract.test_create import ADDED_FIELDS, SPEC_FIELDS
from tests.factories import NOON, make_transfer
from tests.wallets.days import make_watched

pytestmark = pytest.mark.django_db


def test_a_new_checkout_reads_as_it_was_created(tester: ApiClient) -> None:
    created = tester.created(description="Tea", order_ref="o", metadata={"b": 1, "a": 2})
    del created["available_chains"], created["notices"]
    assert read(tester, created["id"]) == created
    assert set(created) == SPEC_FIELDS | ADDED_FIELDS


@pytest.mark.parametrize(
    ("share", "status", "exception"),
    [(98, "underpaid", "underpaid"), (99, "completed", None), (101, "completed", None), (102, "completed", "overpaid")],
)
def test_the_tolerance_is_one_per_cent_of_larger_prices(
    seller: ApiClient, share: int, status: str, exception: str | None
) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, share)
    body = read(seller, checkout_id)
    assert (body["status"], body["exception"]) == (status, exception)


@pytest.mark.parametrize("checkout_id", ["chk_test_", "chk_live_nobody", "x", "é", "%ff"])
def test_an_unknown_id_is_404(tester: ApiClient, checkout_id: str) -> None:
    answer = tester.get(f"/checkouts/{checkout_id}")
    assert answer.refusal == (404, "resource_missing", "checkout_id")


def test_head_answers_like_get_without_a_body(tester: ApiClient) -> None:
    path = f"/checkouts/{tester.created()['id']}"
    answer = tester.send("HEAD", path)
    assert (answer.status, answer.raw) == (200, b"")
    assert answer.headers["X-RateLimit-Limit"] == "120"


def test_a_repeated_creation_shows_the_checkout_as_it_is_now(seller: ApiClient) -> None:
    checkout_id = seller.created(order_ref="order-1")["id"]
    pay(checkout_id)
    again = seller.create(order_ref="order-1")
    assert (again.status, again.body["id"]) == (200, checkout_id)
    now = read(seller, checkout_id)
    assert {name: again.body[name] for name in now} == now
    assert Checkout.objects.count() == 1


# GET /checkouts.


def ids(answer: Any) -> list[str]:
    assert answer.status == 200, answer.body
    return [checkout["id"] for checkout in answer.body["data"]]


@pytest.fixture
def five(tester: ApiClient) -> list[str]:
    """Five checkouts, newest first, created a minute apart before noon."""
    found = [tester.created()["id"] for _ in range(5)][::-1]
    for age, checkout_id in enumerate(found):
        Checkout.objects.filter(public_id=checkout_id).update(created_at=NOON - timedelta(minutes=age))
    return found


def test_an_empty_list_has_all_four_fields(tester: ApiClient) -> None:
    answer = tester.get("/checkouts")
    assert answer.status == 200
    assert answer.body == {"data": [], "total": 0, "limit": 20, "offset": 0}


def test_the_list_is_newest_first_and_shows_what_get_shows(tester: ApiClient, five: list[str]) -> None:
    answer = tester.get("/checkouts")
    assert ids(answer) == five
    assert answer.body["total"] == 5
    for checkout in answer.body["data"]:
        assert tester.get(f"/checkouts/{checkout['id']}").body == checkout


def test_limit_and_offset_cut_the_list(tester: ApiClient, five: list[str]) -> None:
    answer = tester.get("/checkouts", {"limit": 2, "offset": 1})
    assert ids(answer) == five[1:3]
    assert {name: answer.body[name] for name in ("total", "limit", "offset")} == {"total": 5, "limit": 2, "offset": 1}
    assert ids(tester.get("/checkouts", {"offset": 5})) == []
    assert ids(tester.get("/checkouts", {"offset": 2**31 - 1})) == []


@pytest.mark.parametrize("limit", [1, 100])
def test_limits_at_the_bounds_are_taken(tester: ApiClient, limit: int) -> None:
    assert tester.get("/checkouts", {"limit": limit}).body["limit"] == limit


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("limit", value) for value in ("0", "101", "-1", "1.5", "x", " ", " 1", "1e1")),
        *(("limit", value) for value in ("٣", "9" * 400, "\x00", "+5", "1_0")),
        *(("offset", value) for value in ("-1", "x", "1.0", str(2**31), "9" * 400)),
        *(("status", value) for value in ("paid", "Pending", "pending,expired", "\x00")),
        *((name, "yesterday") for name in ("created_after", "created_before")),
        *(
            ("created_after", value)
            for value in (
                "2026-13-01",
                "2026-02-30T00:00:00Z",
                "1763640000",
                "2026-11-20T25:00:00Z",
                "2026-11-20T12:00:00+99:00",
                "0001-01-01T00:00:00+14:00",
                "9999-12-31T23:59:59-14:00",
                "2026-11-20T12:00:00Z\x00",
            )
        ),
        *(("include_total", value) for value in ("yes", "1", "TRUE")),
        ("starting_after", "chk_test_nobody"),
        ("starting_after", "\x00"),
        ("starting_after", "é" * 500),
    ],
)
def test_values_that_cannot_be_are_a_400_that_names_them(tester: ApiClient, name: str, value: str) -> None:
    answer = tester.get("/checkouts", {name: value})
    assert answer.refusal == (400, "parameter_invalid", name)


def test_every_query_parameter_of_every_route_counts_as_absent_where_it_is_empty(
    tester: ApiClient, document: dict[str, Any]
) -> None:
    transfer = make_transfer(Checkout.objects.get(public_id=tester.created()["id"]))
    wallet = make_watched(tester.merchant, mode=Mode.TEST)
    ids = {
        "tx_hash": transfer.tx_hash,
        "wallet_id": wallet.public_id,
        "terminal_id": make_terminal(tester.merchant).public_id,
    }
    tried = 0
    for path, methods in document["paths"].items():
        described = methods.get("get", {}).get("parameters", [])
        names = [one["name"] for one in described if one["in"] == "query"]
        if names:
            route = path.removeprefix("/api/v1").format(**ids)
            plain, empty = tester.get(route), tester.get(route, dict.fromkeys(names, ""))
            assert (plain.status, empty.status) == (200, 200), (route, empty.body)
            # A summary's times are those of the request.
            assert empty.body == plain.body or route == "/reports/summary", route
            tried += 1
    assert tried >= 16


def test_references_narrow_the_list_to_those_that_are_equal(tester: ApiClient) -> None:
    refs = ("order_ref", "customer_ref", "product_ref")
    first = tester.created(order_ref="o", customer_ref="c", product_ref="p")["id"]
    other = tester.created(amount="26", order_ref="o", customer_ref="C")["id"]
    unkeyed = tester.created(order_ref="tmp", product_ref="p")["id"]
    # Successors and links' checkouts have an order_ref that no creation is keyed by.
    rows = Checkout.objects.filter(public_id=unkeyed)
    rows.update(order_ref="o", creation_ref=None)
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"order_ref": "o"}, [unkeyed, other, first]),
        ({"order_ref": "O"}, []),
        ({"customer_ref": "c"}, [first]),
        ({"product_ref": "p"}, [unkeyed, first]),
        ({"product_ref": "p", "order_ref": "o", "customer_ref": "c"}, [first]),
        ({"order_ref": "o", "status": "expired"}, []),
        ({"order_ref": "o", "limit": 1, "offset": 1}, [other]),
        ({"order_ref": "o", "starting_after": other}, [first]),
        ({"product_ref": " p"}, []),
    ]
    for query, expected in cases:
        answer = tester.get("/checkouts", query)
        assert ids(answer) == expected, query
        if not {"limit", "starting_after"} & set(query):
            assert answer.body["total"] == len(expected)
    for name in refs:
        refused = tester.get("/checkouts", {name: "a\x00"})
        assert refused.refusal == (400, "parameter_invalid", name)


def test_unknown_parameters_are_ignored(tester: ApiClient, five: list[str]) -> None:
    assert ids(tester.get("/checkouts", {"page": "x", "sort": "\x00"})) == five


def test_times_narrow_the_list_to_what_is_strictly_between(tester: ApiClient, five: list[str]) -> None:
    after = tester.get("/checkouts", {"created_after": "2026-11-20T11:58:00Z"})
    assert (ids(after), after.body["total"]) == (five[:2], 2)
    before = tester.get("/checkouts", {"created_before": "2026-11-20T11:58:00Z"})
    assert (ids(before), before.body["total"]) == (five[3:], 2)
    both = {"created_after": "2026-11-20T11:56:30Z", "created_before": "2026-11-20T11:59:30Z"}
    assert ids(tester.get("/checkouts", both)) == five[1:4]
    assert ids(tester.get("/checkouts", both | {"limit": 1, "offset": 1})) == [five[2]]


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20T11:58:00Z",
        "2026-11-20T11:58:00",
        "2026-11-20T11:58:00.000000Z",
        "2026-11-20T12:58:00+01:00",
        "2026-11-20T01:58:00-10:00",
        "20261120T115800Z",
    ],
)
def test_iso_8601_times_are_read_and_utc_where_they_do_not_say(tester: ApiClient, five: list[str], text: str) -> None:
    assert ids(tester.get("/checkouts", {"created_after": text})) == five[:2]


def test_a_plus_sign_the_client_did_not_encode_is_read_as_one(tester: ApiClient, five: list[str]) -> None:
    query = "created_after=2026-11-20T12:58:00+01:00"
    assert ids(tester.send("GET", "/checkouts", QUERY_STRING=query)) == five[:2]


def test_a_creation_time_from_an_answer_can_be_asked_with(tester: ApiClient, five: list[str]) -> None:
    third = tester.get(f"/checkouts/{five[2]}").body["created_at"]
    assert ids(tester.get("/checkouts", {"created_before": third})) == five[3:]


def test_pages_by_key_join_without_gap_or_repeat(tester: ApiClient, five: list[str]) -> None:
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while page := ids(tester.get("/checkouts", query)):
        seen += page
        tester.created()  # newer ones do not move the pages behind
        query["starting_after"] = page[-1]
    assert seen == five


def test_paging_by_key_keeps_the_filters(tester: ApiClient, five: list[str]) -> None:
    query = {"starting_after": five[0], "created_after": "2026-11-20T11:57:30Z"}
    assert ids(tester.get("/checkouts", query)) == five[1:3]


@pytest.mark.parametrize("whose", ["another merchant's", "the other mode's"])
def test_paging_never_starts_at_what_is_not_ones_own(seller: ApiClient, whose: str) -> None:
    other = client_of() if whose == "another merchant's" else client_of(seller.merchant)
    foreign = other.created()["id"]
    answer = seller.get("/checkouts", {"starting_after": foreign})
    assert answer.refusal == (400, "parameter_invalid", "starting_after")


def test_the_total_can_be_left_out(tester: ApiClient, five: list[str]) -> None:
    assert set(tester.get("/checkouts", {"include_total": "false"}).body) == {"data", "limit", "offset"}
    assert tester.get("/checkouts", {"include_total": "true"}).body["total"] == 5


@pytest.mark.parametrize("status", CheckoutStatus)
def test_totals_are_right_after_every_status(seller: ApiClient, status: CheckoutStatus) -> None:
    seller.created()
    moved = seller.created()["id"]
    BRING_TO[status](moved)
    for asked in CheckoutStatus:
        answer = seller.get("/checkouts", {"status": asked})
        expected = (asked == status) + (asked == "pending")
        assert (len(ids(answer)), answer.body["total"]) == (expected, expected)
    assert seller.get("/checkouts").body["total"] == 2
    found = ids(seller.get("/checkouts", {"status": status}))
    assert moved in found


def test_totals_follow_a_checkout_through_all_its_moves(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    for share, status in ((40, "underpaid"), (30, "underpaid"), (30, "completed")):
        pay(checkout_id, share)
        totals = {asked.value: seller.get("/checkouts", {"status": asked}).body["total"] for asked in CheckoutStatus}
        assert {asked: total for asked, total in totals.items() if total} == {status: 1}


def test_a_repeat_and_a_refusal_count_nothing(tester: ApiClient) -> None:
    tester.created(order_ref="order-1")
    tester.create(order_ref="order-1")
    tester.create(amount="0")
    assert tester.get("/checkouts").body["total"] == 1


def test_status_and_time_filter_together(tester: ApiClient, five: list[str]) -> None:
    query = {"status": "pending", "created_after": "2026-11-20T11:58:00Z"}
    assert ids(tester.get("/checkouts", query)) == five[:2]
    assert ids(tester.get("/checkouts", query | {"status": "completed"})) == []


def test_the_events_list_takes_the_same_bounds(tester: ApiClient) -> None:
    assert tester.get("/events").body == {"data": [], "total": 0, "limit": 20, "offset": 0}
    for query in ({"limit": 101}, {"offset": -1}, {"after": "x"}, {"after": "9" * 30}):
        [name] = query
        assert tester.get("/events", query).refusal == (400, "parameter_invalid", name)


@pytest.mark.parametrize("name", ["starting_after", "type", "checkout_id"])
def test_no_event_filter_trips_over_a_nul(tester: ApiClient, name: str) -> None:
    answer = tester.get("/events", {name: "\x00"})
    assert answer.refusal == (400, "parameter_invalid", name)


def test_now_is_in_neither_half(tester: ApiClient) -> None:
    tester.created()
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert ids(tester.get("/checkouts", {"created_after": tomorrow})) == []
    assert len(ids(tester.get("/checkouts", {"created_before": tomorrow}))) == 1
