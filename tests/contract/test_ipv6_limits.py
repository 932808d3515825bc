"""One customer of a provider has 2^64 addresses, so that limits count them as one."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client, RequestFactory

from checkouts.page.limits import count_exact_choice, count_search
from checkouts.page.streaming.admission import PER_ADDRESS, Admission
from gateway.core.api.errors import RateLimitError
from gateway.core.api.rate_limits import Limit
from gateway.core.web.pages import count_visit
from tests.checkouts.factories import make_page_checkout
from tests.contract.client import ApiClient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("still_clock")]

HERE = [f"2001:db8:1:2::{number:x}" for number in range(1, 200)]
NEXT_DOOR = "2001:db8:1:3::1"
Ask = Callable[[str], int]


def chains(address: str) -> int:
    """Ask for a document that needs no key."""
    return ApiClient(address=address).get("/chains").status


def wrong_key(address: str) -> int:
    """Ask with a key that nobody has."""
    return ApiClient(key="nonsense", address=address).get("/checkouts").status


def login(address: str) -> int:
    """Send the login form."""
    form = {"login": f"{address}@example.test", "password": "wrong"}
    sent = Client(REMOTE_ADDR=address).post("/account/login/", form)
    return int(sent.status_code)


@pytest.mark.parametrize(("ask", "most"), [(chains, 60), (wrong_key, 60), (login, 30)])
def test_requests_from_one_network_are_counted_together(ask: Ask, most: int) -> None:
    statuses = [ask(address) for address in HERE[: most + 1]]
    assert 429 not in statuses[:-1]
    assert statuses[-1] == 429
    assert ask(NEXT_DOOR) != 429


def test_a_buyers_page_is_counted_by_network() -> None:
    path = f"/c/{make_page_checkout().code}/status"
    statuses = [Client(REMOTE_ADDR=address).get(path).status_code for address in HERE[:61]]
    assert statuses[-1] == 429
    assert Client(REMOTE_ADDR=NEXT_DOOR).get(path).status_code == 200


def test_one_network_holds_a_hundred_streams() -> None:
    admission = Admission(1_000)
    held = [admission.admit(number, HERE[number]) for number in range(PER_ADDRESS)]
    for stream in held:
        stream.__enter__()
    with pytest.raises(RateLimitError), admission.admit(1_001, HERE[-1]):
        pass
    with admission.admit(1_002, NEXT_DOOR):
        pass
    for stream in held:
        stream.__exit__(None, None, None)
    assert not admission._counts


def visit(request: Any) -> None:
    """Count a visit of a page."""
    count_visit(request, Limit("test", 5), "page")


def reserve(request: Any) -> None:
    """Count an exact amount of one merchant's."""
    count_exact_choice(request, 1)


def search(request: Any) -> None:
    """Count a search for a transaction, on a page of its own."""
    count_search(request, request.META["REMOTE_ADDR"])


@pytest.mark.parametrize(("count", "most"), [(visit, 5), (reserve, 20), (search, 10)])
def test_what_pages_count_is_counted_by_network(count: Callable[[Any], None], most: int, rf: RequestFactory) -> None:
    for address in HERE[:most]:
        count(rf.get("/", REMOTE_ADDR=address))
    with pytest.raises(RateLimitError):
        count(rf.get("/", REMOTE_ADDR=HERE[-1]))
    count(rf.get("/", REMOTE_ADDR=NEXT_DOOR))
