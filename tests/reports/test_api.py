"""`GET /reports/transactions`: whose, which, in what order, and what is refused."""

from typing import Any

import pytest

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import make_checkout, make_transfer
from tests.reports.answers import LINES, listed, named
from tests.reports.takings import days_later, earn, lose, receive, see

pytestmark = pytest.mark.django_db


def test_all_states_are_listed_newest_block_first(shop: ApiClient) -> None:
    middle = lose(shop.merchant)
    newest = see(shop.merchant, **days_later(2))
    oldest = earn(shop.merchant, **days_later(-2))
    assert listed(shop) == named(newest, middle, oldest)


def test_another_merchants_line_is_no_place_to_start(shop: ApiClient) -> None:
    [theirs] = named(earn(client_of(mode=Mode.LIVE).merchant))
    answer = shop.get(LINES, {"starting_after": theirs})
    assert answer.refusal == (400, "parameter_invalid", "starting_after")


def test_pages_by_key_pass_over_nothing_and_repeat_nothing(shop: ApiClient) -> None:
    assert shop.merchant is not None
    checkout = make_checkout(shop.merchant)
    # Five in one block: only their keys tell them apart.
    tied = [make_transfer(checkout) for _ in range(5)]
    older = receive(shop.merchant, **days_later(-1))
    wanted = named(*reversed(tied), older)
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while page := listed(shop, **query):
        found += page
        query["starting_after"] = page[-1]
    assert found == wanted
    assert listed(shop, limit=2, offset=4) == wanted[4:]


def test_the_envelope_is_that_of_every_list(shop: ApiClient) -> None:
    for _ in range(3):
        earn(shop.merchant)
    body = shop.get(LINES, {"limit": 2}).body
    assert (body["total"], body["limit"], body["offset"]) == (3, 2, 0)
    assert "total" not in shop.get(LINES, {"include_total": "false"}).body


@pytest.mark.usefixtures("evening")
def test_both_reports_share_thirty_requests_a_minute(shop: ApiClient) -> None:
    answers = [shop.get(path) for path in (LINES, "/reports/summary") for _ in range(15)]
    assert {answer.status for answer in answers} == {200}
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"30"}
    assert shop.get(LINES).status == 429
