"""Limits are exact, per key, and give way where the counter store is away."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connections
from django.test import Client, RequestFactory

from accounts.keys.authentication import key_cache
from accounts.keys.service import revoke_api_key
from accounts.states import Mode
from checkouts.page.limits import count_exact_choice, count_search
from checkouts.page.streaming.application import PER_ADDRESS, Admission
from gateway.core import valkey
from gateway.core.api.errors import RateLimitError
from gateway.core.api.rate_limits import Limit
from gateway.core.web.pages import count_visit
from tests.checkouts.factories import make_page_checkout
from tests.contract.client import ApiClient, client_of, some_address
from tests.contract.provoking import count_requests
from tests.factories import NOON

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("still_clock")]


THREADS = 8


def admitted(answers: list[Any]) -> int:
    return sum(answer.status != 429 for answer in answers)


def hammer(send: Any, times: int) -> list[Any]:
    """Call `send` at once from eight threads, `times` times in all, each with its own connection."""
    start = Barrier(THREADS)

    def work(share: int) -> list[Any]:
        start.wait()
        try:
            return [send() for _ in range(share)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool:
        shares = [times // THREADS] * THREADS
        return [answer for answers in pool.map(work, shares) for answer in answers]


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("method", "path", "limit"), [("POST", "/checkouts", 60), ("GET", "/checkouts", 30), ("GET", "/checkouts/x", 120)]
)
def test_eight_clients_at_once_get_exactly_the_limit_through(
    tester: ApiClient, method: str, path: str, limit: int
) -> None:
    answers = hammer(lambda: tester.send(method, path, b"{}"), limit + 40)
    assert admitted(answers) == limit
    passed = [answer for answer in answers if answer.status != 429]
    left = sorted(int(answer.headers["X-RateLimit-Remaining"]) for answer in passed)
    assert left == list(range(limit))


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_the_hammer_sees_a_counter_that_reads_before_it_writes(
    tester: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: DRF's own throttle counts like this."""
    both_have_read = Barrier(THREADS)

    def racy(command: str, script: str, keys: int, key: str, kept_seconds: int) -> int:
        client = valkey.client()
        used = int(client.get(key) or 0)
        both_have_read.wait()
        client.set(key, used + 1)
        return used + 1

    monkeypatch.setattr("gateway.core.api.rate_limits.valkey.ask", racy)
    answers = hammer(lambda: tester.send("GET", "/checkouts", b""), 30 + 50)
    assert admitted(answers) > 30


@pytest.mark.django_db
def test_the_request_over_the_limit_says_when_to_come_back(tester: ApiClient, still_clock: Any) -> None:
    for left in range(29, -1, -1):
        answer = tester.get("/checkouts")
        assert answer.headers["X-RateLimit-Remaining"] == str(left)
    refused = tester.get("/checkouts")
    assert refused.status == 429
    assert refused.body == {"error": {"type": "rate_limit", "message": "Too many requests. Retry in 30 seconds."}}
    assert refused.headers["Retry-After"] == "30"
    reset = int(NOON.timestamp()) + 60
    assert refused.headers["X-RateLimit-Reset"] == str(reset)
    still_clock.move_to(NOON + timedelta(seconds=59, milliseconds=900))
    assert tester.get("/checkouts").headers["Retry-After"] == "1"
    still_clock.move_to(NOON + timedelta(seconds=60))
    answer = tester.get("/checkouts")
    assert (answer.status, answer.headers["X-RateLimit-Remaining"]) == (200, "29")


@pytest.mark.django_db
@pytest.mark.parametrize("public", ["/chains", "/currencies", "/openapi.json"])
def test_what_needs_no_key_and_what_has_no_valid_one_are_counted_apart(public: str) -> None:
    poller = ApiClient()
    wrong = ApiClient(key="sk_live_nobodys", address=poller.address)
    assert poller.get(public).status == 200
    # A document is slow to make.
    count_requests(58)
    assert [poller.get(public).status for _ in range(2)] == [200, 429]
    assert wrong.get("/checkouts").code == "key_invalid"
    poller.get("/checkouts")
    count_requests(58)
    assert wrong.get("/checkouts").status == 429
    assert ApiClient(address=some_address()).get("/chains").status == 200


@pytest.mark.django_db
def test_a_refused_post_creates_nothing(tester: ApiClient) -> None:
    tester.create(amount="nothing")
    count_requests(59)
    assert tester.create().status == 429
    assert tester.get("/checkouts").body["total"] == 0


@pytest.mark.django_db
def test_limits_are_per_key_and_not_per_address(tester: ApiClient) -> None:
    tester.get("/checkouts")
    count_requests(29)
    moved = ApiClient(key=tester.key, address=some_address())
    assert moved.get("/checkouts").status == 429
    other_key = client_of(tester.merchant, Mode.TEST)
    other_key.address = tester.address
    assert other_key.get("/checkouts").status == 200


@pytest.mark.django_db
def test_each_operation_is_counted_by_itself(tester: ApiClient) -> None:
    tester.get("/checkouts")
    count_requests(30)
    assert tester.get("/checkouts").status == 429
    assert tester.get("/checkouts/x").status == 404
    tester.post("/checkouts/x/options", {})
    count_requests(60)
    assert tester.post("/checkouts/x/options", {}).status == 429
    assert tester.create().status == 201
    assert tester.get("/events").status == 200


@pytest.mark.django_db
def test_head_counts_as_get(tester: ApiClient) -> None:
    tester.send("HEAD", "/checkouts")
    count_requests(29)
    assert tester.get("/checkouts").status == 429


@pytest.mark.django_db
@pytest.mark.parametrize("key", [None, "sk_live_nobody", "nonsense"])
def test_requests_without_a_valid_key_are_counted_by_address(key: str | None) -> None:
    stranger = ApiClient(key=key)
    paths = ["/checkouts", "/checkouts/x", "/events"]
    assert [stranger.get(path).status for path in paths] == [401] * 3
    count_requests(57)
    assert stranger.get("/checkouts").status == 429
    assert ApiClient(key=key).get("/checkouts").status == 401


@pytest.mark.django_db
def test_a_revoked_key_is_counted_by_address(tester: ApiClient) -> None:
    assert tester.merchant is not None
    revoke_api_key(tester.merchant.api_keys.get(), now=NOON)
    key_cache.clear()
    assert tester.get("/checkouts").status == 401
    count_requests(59)
    assert tester.get("/checkouts").status == 429


@pytest.mark.django_db
def test_strangers_at_an_address_do_not_use_up_a_keys_requests(tester: ApiClient) -> None:
    stranger = ApiClient(address=tester.address)
    stranger.get("/checkouts")
    count_requests(60)
    assert stranger.get("/checkouts").status == 429
    assert tester.get("/checkouts").status == 200


@pytest.mark.django_db
def test_the_public_route_is_counted_by_address_whatever_key_comes_along(tester: ApiClient) -> None:
    assert tester.get("/chains").status == 200
    count_requests(59)
    assert tester.get("/chains").status == 429
    assert ApiClient(key="nonsense").get("/chains").status == 200


@pytest.mark.django_db
def test_unknown_routes_and_documents_are_counted_too() -> None:
    stranger = ApiClient()
    paths = ["/nowhere", "/openapi.json"]
    assert [stranger.get(path).status for path in paths] == [404, 200]
    count_requests(58)
    assert [stranger.get(path).status for path in paths * 2] == [404, 200, 429, 429]


@pytest.mark.django_db
def test_only_a_trusted_proxy_may_name_the_client(settings: Any) -> None:
    stranger = ApiClient()
    for number in range(2):
        stranger.send("GET", "/chains", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}")
    count_requests(58)
    liar = stranger.send("GET", "/chains", HTTP_X_FORWARDED_FOR="203.0.113.200")
    assert liar.status == 429
    settings.TRUSTED_PROXIES = [f"{stranger.address}/32"]
    behind = stranger.send("GET", "/chains", HTTP_X_FORWARDED_FOR="203.0.113.201")
    assert behind.status == 200


@pytest.mark.django_db
def test_without_the_counter_store_requests_pass_and_a_metric_counts_them(tester: ApiClient, settings: Any) -> None:
    before = valkey.UNAVAILABLE._value.get()
    settings.REDIS_URL = ""
    answers = [tester.get("/checkouts") for _ in range(31)]
    assert {answer.status for answer in answers} == {200}
    assert {answer.headers["X-RateLimit-Remaining"] for answer in answers} == {"30"}
    assert valkey.UNAVAILABLE._value.get() == before + 31


@pytest.mark.django_db
def test_a_store_that_refuses_connections_stops_no_payment(tester: ApiClient, settings: Any) -> None:
    before = valkey.UNAVAILABLE._value.get()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    valkey.client.cache_clear()
    try:
        assert {tester.create().status for _ in range(61)} == {201}
    finally:
        valkey.client.cache_clear()
    # Asked once a second as well: which prices have no exact amount left.
    assert valkey.UNAVAILABLE._value.get() >= before + 61


@pytest.mark.django_db
def test_settling_what_has_accumulated_counts_with_the_rest_of_x402(tester: ApiClient) -> None:
    assert tester.get("/x402/config").status == 200
    assert tester.post("/x402/settle", {}).status == 202
    count_requests(58)
    assert tester.post("/x402/settle", {}).status == 429
    assert tester.get("/x402/config").status == 429
    signed = tester.post("/x402/settle", {"x402Version": 2})
    assert (signed.status, signed.headers["X-RateLimit-Limit"]) == (200, "600")
    verified = tester.post("/x402/verify", {})
    assert (verified.status, verified.headers["X-RateLimit-Limit"]) == (400, "600")


# One customer of a provider has 2^64 addresses, so that limits count them as one.


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
