"""Headers and envelopes that must hold even where no view was reached."""

from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from gateway.core import errors, json
from gateway.core.api import count_address
from gateway.core.ids import new_code

API_PREFIX = "/api/"


class ApiMiddleware:
    """Names every request, and gives each API response the headers the contract promises."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        request_id = f"req_{new_code()}"
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response["X-Request-Id"] = request_id
        if request.path_info.startswith(API_PREFIX):
            response = self._complete(request, response, request_id)
        return response

    def _complete(
        self, request: HttpRequest, response: HttpResponse, request_id: str
    ) -> HttpResponse:
        if (
            response.status_code >= 400
            and response["Content-Type"] != "application/json"
        ):
            response = _envelope(response.status_code)
            response["X-Request-Id"] = request_id
        if not hasattr(request, "rate_state"):
            response = _count_late(request, response)
        for name, value in request.rate_state.headers().items():  # type: ignore[attr-defined]
            response[name] = value
        response["X-Service-Version"] = settings.SERVICE_VERSION
        response["Cache-Control"] = "no-store"
        return response


def _count_late(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Count a request that failed before its view could."""
    try:
        count_address(request)
    except errors.RateLimitError as error:
        return _render(error)
    return response


def _envelope(status: int) -> HttpResponse:
    """Turn one of Django's own error pages into the API's envelope."""
    if status == 404:
        return _render(
            errors.NotFoundError("There is no such route.", code="route_missing")
        )
    if status == 413:
        return _render(
            errors.BodyTooLargeError("The request body is larger than 256 KB.")
        )
    if status < 500:
        return _render(errors.InvalidRequestError("The request cannot be understood."))
    return _render(
        errors.GatewayError("Something went wrong on our side. Please try again.")
    )


def _render(error: errors.GatewayError) -> HttpResponse:
    return HttpResponse(
        json.dumps(error.body()),
        status=error.status,
        content_type="application/json",
        headers=error.headers(),
    )
