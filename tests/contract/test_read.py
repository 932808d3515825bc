"""GET /checkouts/{id}."""

import pytest

from checkouts.models import Checkout
from tests.contract.client import ApiClient
from tests.contract.payments import pay
from tests.contract.reading import read
from tests.contract.test_create import ADDED_FIELDS, SPEC_FIELDS

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
