"""What every API view shares, on views of its own."""

import json
from typing import Any, ClassVar

import pytest
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import Http404, HttpResponse
from django.test import RequestFactory
from rest_framework import exceptions as drf
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.api.views import ApiView, RouteMissing
from gateway.core.api.wire import json_body

pytestmark = pytest.mark.usefixtures("still_noon")


class Echo(ApiView):
    """Answers the body it got, or fails as it is told."""

    key_required = False
    authentication_classes = ()
    other_limit: ClassVar = Limit("echo", 3)
    failure: ClassVar[Exception | None] = None

    def post(self, request: Request) -> Response:
        if self.failure is not None:
            raise self.failure
        return Response(json_body(request))


def send(view: type[ApiView], method: str = "POST", body: bytes = b"{}", **extra: Any) -> Any:
    content_type = extra.pop("content_type", "application/json")
    request = RequestFactory().generic(method, "/api/v1/x", body, content_type, **extra)
    response: HttpResponse = view.as_view()(request)
    response.render()  # type: ignore[attr-defined]
    return response


def failing(failure: Exception) -> Any:
    return send(type("Failing", (Echo,), {"failure": failure}))


def error_of(response: HttpResponse) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(response.content)["error"]
    return found


def test_a_body_is_parsed_and_written_without_touching_its_numbers() -> None:
    body = b'{"b":1.10,"a":123456789012345678901234567890}'
    assert send(Echo, body=body).content == body


def test_no_body_is_an_empty_object() -> None:
    assert send(Echo, body=b"").content == b"{}"
    form = send(Echo, body=b"", content_type="application/x-www-form-urlencoded")
    assert form.content == b"{}"


@pytest.mark.parametrize(
    ("failure", "status", "type_", "code"),
    [
        (errors.InvalidRequestError("m"), 400, "invalid_request", "parameter_invalid"),
        (errors.AuthenticationError("m"), 401, "authentication", "key_invalid"),
        (errors.RoleError("m"), 403, "permission", "role_insufficient"),
        (errors.NotFoundError("m"), 404, "not_found", "resource_missing"),
        (Http404("m"), 404, "not_found", "resource_missing"),
        (drf.MethodNotAllowed("X"), 405, "invalid_request", "method_not_allowed"),
        (errors.ConflictError("m"), 409, "conflict", "state_conflict"),
        (RequestDataTooBig("m"), 413, "invalid_request", "body_too_large"),
        (TooManyFieldsSent("m"), 400, "invalid_request", "parameter_invalid"),
        (drf.UnsupportedMediaType("x"), 415, "invalid_request", "media_type_unsupported"),
        (errors.UnavailableError("m"), 503, "api_error", "chain_unavailable"),
        (ValueError("secret"), 500, "api_error", "internal"),
        (KeyError("secret"), 500, "api_error", "internal"),
        (drf.APIException("secret"), 500, "api_error", "internal"),
    ],
)
def test_every_failure_is_rendered_by_one_handler(failure: Exception, status: int, type_: str, code: str) -> None:
    response = failing(failure)
    error = error_of(response)
    assert response.status_code == status
    assert (error["type"], error["code"], error["param"]) == (type_, code, None)
    assert set(error) == {"type", "message", "param", "code"}
    assert "secret" not in error["message"]


def test_an_error_may_name_its_parameter_and_its_own_code() -> None:
    refusal = errors.InvalidRequestError("m", param="amount", code="amount_invalid")
    assert error_of(failing(refusal)) == {
        "type": "invalid_request",
        "message": "m",
        "param": "amount",
        "code": "amount_invalid",
    }


def test_the_rate_limit_error_has_two_fields_and_a_header() -> None:
    response = failing(errors.RateLimitError(17))
    assert error_of(response) == {"type": "rate_limit", "message": "Too many requests. Retry in 17 seconds."}
    assert response["Retry-After"] == "17"


def test_errors_are_json_even_where_the_request_was_never_parsed() -> None:
    for response in (send(Echo, "PUT"), send(Echo, body=b"x", content_type="text/plain")):
        assert response["Content-Type"] == "application/json"
    assert set(send(Echo, "PUT")["Allow"].split(", ")) >= {"POST"}


def test_options_is_no_way_around_the_key() -> None:
    locked = type("Locked", (Echo,), {"key_required": True})
    for method in ("OPTIONS", "PUT", "POST", "HEAD"):
        assert send(locked, method).status_code == 401


def test_without_a_key_the_address_is_counted_and_not_the_methods_limit() -> None:
    statuses = [send(Echo, REMOTE_ADDR="10.9.8.7").status_code for _ in range(61)]
    assert statuses == [200] * 60 + [429]
    assert send(Echo, REMOTE_ADDR="10.9.8.6").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_a_missing_route_is_missing_for_every_method(method: str) -> None:
    missing = type("Missing", (RouteMissing,), {"authentication_classes": ()})
    response = send(missing, method)
    assert response.status_code == 404
    assert error_of(response)["code"] == "route_missing"
