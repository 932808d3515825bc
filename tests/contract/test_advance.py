"""A shop's tests play each outcome of a test checkout without waiting."""

from typing import Any

import pytest
from django.test import Client

from accounts.states import Mode
from checkouts.states import TestScenario as Scenario
from tests.contract.client import Answer, ApiClient, client_of
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


def advance(client: ApiClient, checkout_id: str, body: Any = None) -> Answer:
    return client.send("POST", f"/test/checkouts/{checkout_id}/advance", body)


def events_of(client: ApiClient, checkout_id: str) -> list[str]:
    """The types of a checkout's events, without their prefix, in their order."""
    newest_first = client.get("/events", {"checkout_id": checkout_id}).body["data"]
    return [str(event["type"]).removeprefix("checkout.") for event in reversed(newest_first)]


def test_one_step_is_played_and_the_answer_is_the_checkout(tester: ApiClient) -> None:
    checkout_id = tester.created(test_scenario="topped_up")["id"]
    answer = advance(tester, checkout_id)
    assert (answer.status, answer.body["status"], answer.body["amount_remaining"]) == (200, "underpaid", "12.500000")
    assert answer.body == tester.get(f"/checkouts/{checkout_id}").body
    assert advance(tester, checkout_id, {}).body["status"] == "completed"


@pytest.mark.parametrize(
    ("scenario", "steps", "status", "exception", "events"),
    [
        ("completed", 1, "completed", None, ["completed"]),
        ("processing", 1, "processing", None, []),
        ("underpaid", 1, "underpaid", "underpaid", ["underpaid"]),
        ("underpaid", 2, "expired", "underpaid", ["underpaid", "expired"]),
        ("topped_up", 10, "completed", None, ["underpaid", "completed"]),
        ("part_paid", 10, "expired", "underpaid", ["underpaid", "expired"]),
        ("overpaid", 10, "completed", "overpaid", ["completed"]),
        ("extra", 10, "completed", None, ["completed"]),
        ("late", 10, "expired", None, ["expired"]),
        ("expired", 10, "expired", None, ["expired"]),
        ("reorg", 4, "completed", "reversed", ["completed", "reversed"]),
        ("reorg", 10, "completed", None, ["completed", "reversed", "restored"]),
        ("reversed", 10, "completed", "reversed", ["completed", "reversed"]),
    ],
)
def test_a_shop_reaches_each_outcome_in_one_request(
    tester: ApiClient, scenario: str, steps: int, status: str, exception: str | None, events: list[str]
) -> None:
    checkout_id = tester.created(test_scenario=scenario, webhook_url="https://shop.example/hook")["id"]
    body = advance(tester, checkout_id, {"steps": steps}).body
    assert (body["status"], body["exception"], body["livemode"]) == (status, exception, False)
    assert events_of(tester, checkout_id) == events
    # The sender finds them, as any others.
    assert Delivery.objects.count() == len(events)


@pytest.mark.parametrize("scenario", list(Scenario))
def test_the_buyers_page_shows_each_state(tester: ApiClient, client: Client, scenario: str) -> None:
    checkout = tester.created(test_scenario=scenario)
    page = checkout["checkout_url"].partition("/c/")[2]
    answer = advance(tester, checkout["id"])
    while answer.status == 200:
        assert client.get(f"/c/{page}").status_code == 200
        answer = advance(tester, checkout["id"])
    assert answer.refusal == (409, "state_conflict", None)


@pytest.mark.parametrize("steps", [0, 11, -1, 1.0, "1", True, [1], 10**30])
def test_steps_are_a_whole_number_from_1_to_10(tester: ApiClient, steps: object) -> None:
    checkout_id = tester.created()["id"]
    assert advance(tester, checkout_id, {"steps": steps}).refusal == (400, "parameter_invalid", "steps")
    assert tester.get(f"/checkouts/{checkout_id}").body["status"] == "pending"


def test_a_live_key_has_nothing_to_advance(seller: ApiClient) -> None:
    tested = client_of(seller.merchant, Mode.TEST)
    live_id, test_id = seller.created()["id"], tested.created()["id"]
    for checkout_id in (live_id, test_id):
        assert advance(seller, checkout_id).refusal == (404, "resource_missing", "checkout_id")
    assert advance(tested, live_id).refusal == (404, "resource_missing", "checkout_id")
    assert seller.get(f"/checkouts/{live_id}").body["status"] == "pending"
    assert tested.get(f"/checkouts/{test_id}").body["status"] == "pending"


def test_another_merchants_test_checkout_does_not_exist(tester: ApiClient) -> None:
    checkout_id = tester.created()["id"]
    assert advance(client_of(mode=Mode.TEST), checkout_id).refusal == (404, "resource_missing", "checkout_id")
    assert tester.get(f"/checkouts/{checkout_id}").body["status"] == "pending"
