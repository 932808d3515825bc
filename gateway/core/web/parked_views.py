"""Views that wait without a thread: the web front calls them again when the event they wait for may have happened."""

from concurrent.futures import Future
from typing import Any, Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

VISIT: Final = "florin.visit"
"""The visit's key in a request's environment. No client can set it: headers begin with HTTP_."""

REFUSAL: Final = "florin.refusal"
"""The key of the GatewayError for which the front refuses a request: no view sees it."""

WATCH: Final = "watch"
"""The key of a visit's function that starts to watch its client, and returns a future that is done once the client is gone."""

GONE: Final = "gone"
"""The key of that future."""

Visit = dict[str, Any]

_COUNTED: Final = "counted"


def visit_of(request: HttpRequest) -> Visit | None:
    """Return a request's visit; None if its view must wait in its thread."""
    visit: Visit | None = request.META.get(VISIT)
    return visit


def call_again(request: HttpRequest, response: HttpResponseBase, after: "Future[None]") -> None:
    """Tell the front to drop a response, and to call the view again once a future is done."""
    request.META[VISIT][_COUNTED] = request.rate_state  # type: ignore[attr-defined]
    response.later = after  # type: ignore[attr-defined]


def later_of(response: HttpResponseBase) -> "Future[None] | None":
    """Return what a response waits for; None if it is final."""
    return getattr(response, "later", None)


def counted_before(request: HttpRequest) -> Any:
    """Return the rate limit's state of the view's first call; None during the first call."""
    visit = visit_of(request)
    return visit.get(_COUNTED) if visit else None


def watch_client(request: HttpRequest) -> None:
    """Start to watch whether a request's client closes its connection. Does nothing without a visit."""
    visit = visit_of(request)
    if visit is not None and GONE not in visit and WATCH in visit:
        visit[GONE] = visit[WATCH]()


def is_client_gone(request: HttpRequest) -> bool:
    """Whether a watched client closed its connection: then no answer reaches it."""
    visit = visit_of(request) or {}
    return GONE in visit and visit[GONE].done()
