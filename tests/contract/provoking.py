"""Requests that provoke what every route does with what it does not take."""

from collections.abc import Callable
from typing import Any

from django.conf import settings

from accounts.states import Mode
from gateway.core import valkey
from gateway.core.api import rate_limits
from tests.contract.client import Answer, ApiClient
from tests.factories import make_key, make_merchant

Case = tuple[str, str, int]
Send = Callable[[ApiClient], Answer]


def limited(method: str, path: str, times: int) -> Callable[[ApiClient], Answer]:
    """Send a request that so many came before: one that is sent, and others that are only counted."""

    def send(client: ApiClient) -> Answer:
        first = client.send(method, path, b"")
        assert first.status != 429
        assert int(first.headers["X-RateLimit-Limit"]) <= times
        count_requests(times - 1)
        return client.send(method, path, b"")

    return send


def count_requests(requests: int, scope: str = "*") -> None:
    """Add requests to each counter of this test, as the limit's script would, or to those of one limit."""
    counters = valkey.client()
    of_this_test = f"{settings.KEY_PREFIX}:{rate_limits.NAMESPACE}:{scope}:*"
    for counter in counters.scan_iter(match=of_this_test, count=10_000):
        counters.incrby(counter, requests)


def nobody(method: str, path: str) -> Callable[[ApiClient], Answer]:
    return lambda client: ApiClient().send(method, path, b"{}")


def elsewhere(method: str, path: str) -> Callable[[ApiClient], Answer]:
    """Send a request with a key that may not be used from the client's address."""

    def send(client: ApiClient) -> Answer:
        _, key = make_key(make_merchant(), Mode.TEST, networks=("192.0.2.0/24",))
        return ApiClient(key=key, address="198.51.100.7").send(method, path, b"{}")

    return send


def big(path: str) -> Callable[[ApiClient], Answer]:
    return lambda client: client.post(path, b" " * (256 * 1024 + 1))


def plain(path: str) -> Callable[[ApiClient], Answer]:
    return lambda client: client.send("POST", path, b"x", content_type="text/plain")


def bad_key(path: str) -> Callable[[ApiClient], Answer]:
    return lambda client: client.send("POST", path, b"{}", HTTP_IDEMPOTENCY_KEY="x" * 129)


def used_key(path: str, body: Any) -> Callable[[ApiClient], Answer]:
    """Use an Idempotency-Key for two bodies."""

    def send(client: ApiClient) -> Answer:
        client.send("POST", path, body, HTTP_IDEMPOTENCY_KEY="k")
        return client.send("POST", path, {}, HTTP_IDEMPOTENCY_KEY="k")

    return send


def refusals(method: str, path: str, route: str, limit: int) -> dict[Case, Send]:
    """What every route does with a request it does not take, for a body that is no link's."""
    case = method.lower(), route
    found: dict[Case, Send] = {(*case, 401): nobody(method, path), (*case, 429): limited(method, path, limit)}
    if "{" in route:
        found[*case, 404] = lambda client: client.send(method, path, b"{}")
    return found


def body_refusals(method: str, route: str, make: Callable[[ApiClient], str]) -> dict[Case, Send]:
    case = method.lower(), route
    return {
        (*case, 400): lambda client: client.send(method, make(client), {"title": 1}),
        (*case, 413): lambda client: client.send(method, make(client), b" " * (256 * 1024 + 1)),
        (*case, 415): lambda client: client.send(method, make(client), b"x", content_type="text/plain"),
    }
