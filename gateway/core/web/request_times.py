"""How long requests take, by route."""

from collections.abc import Callable
from time import perf_counter
from typing import Final

from django.http import HttpRequest, HttpResponse
from prometheus_client import Histogram

# A client may send any word as its method, and each label's value is kept for good.
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
SECONDS: Final = Histogram(
    "florin_request_seconds",
    "Time to answer a request, by the pattern of its route.",
    ["route", "method", "status"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30),
)


class RequestTimesMiddleware:
    """Measures each request. Labels hold the route's pattern, never a path: paths have ids of checkouts."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        began = perf_counter()
        response = self.get_response(request)
        SECONDS.labels(route_of(request), method_of(request), f"{response.status_code // 100}xx").observe(
            perf_counter() - began
        )
        return response


def route_of(request: HttpRequest) -> str:
    """Return the pattern of an answered request's route."""
    match = request.resolver_match
    return match.route if match else "none"


def method_of(request: HttpRequest) -> str:
    """Return a request's method, "other" if it is none of HTTP's."""
    return request.method if request.method in _METHODS else "other"
