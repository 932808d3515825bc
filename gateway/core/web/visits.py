"""Views that wait: the web front calls them again when what they wait for may be there, and no thread is held meanwhile.

A request has a visit, in which its view keeps what it needs when it is called again. Where there is none, as in tests and
under other servers, a view waits in its thread.
"""

from concurrent.futures import Future
from typing import Any, Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

VISIT: Final = "florin.visit"
"""The visit's name in a request's environment, where no client can set it: headers begin with HTTP_."""

REFUSAL: Final = "florin.refusal"
"""The name of the GatewayError for which the front refuses a request: no view sees it."""

Visit = dict[str, Any]

_COUNTED: Final = "counted"


def visit_of(request: HttpRequest) -> Visit | None:
    """Return a request's visit; None where its view has to wait by itself."""
    visit: Visit | None = request.META.get(VISIT)
    return visit


def call_again(
    request: HttpRequest, response: HttpResponseBase, after: "Future[None]"
) -> None:
    """Have the front drop a response, and call the view again once a future is done."""
    request.META[VISIT][_COUNTED] = request.rate_state  # type: ignore[attr-defined]
    response.later = after  # type: ignore[attr-defined]


def later_of(response: HttpResponseBase) -> "Future[None] | None":
    """Return what a response waits for; None where it is an answer."""
    return getattr(response, "later", None)


def counted_before(request: HttpRequest) -> Any:
    """Return the rate limit's state as it was when the view was called first; None then."""
    visit = visit_of(request)
    return visit.get(_COUNTED) if visit else None
