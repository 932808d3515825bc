"""The middleware alone, around views that answer what Django itself would."""

import json
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.test import RequestFactory
from structlog.contextvars import get_contextvars

from gateway.core.web.middleware import ApiMiddleware

pytestmark = pytest.mark.usefixtures("still_noon")


def answer(inner: HttpResponse, path: str = "/api/v1/x") -> HttpResponse:
    return ApiMiddleware(lambda request: inner)(RequestFactory().get(path))


@pytest.mark.parametrize(
    ("status", "answered", "type_", "code"),
    [
        (400, 400, "invalid_request", "parameter_invalid"),
        (403, 400, "invalid_request", "parameter_invalid"),
        (404, 404, "not_found", "route_missing"),
        (405, 405, "invalid_request", "method_not_allowed"),
        (413, 413, "invalid_request", "body_too_large"),
        (500, 500, "api_error", "internal"),
        (503, 500, "api_error", "internal"),
    ],
)
def test_error_pages_of_others_become_the_envelope(status: int, answered: int, type_: str, code: str) -> None:
    response = answer(HttpResponse("<h1>secret</h1>", status=status))
    assert response.status_code == answered
    assert response["Content-Type"] == "application/json"
    error = json.loads(response.content)["error"]
    assert (error["type"], error["code"], error["param"]) == (type_, code, None)
    assert b"secret" not in response.content


def test_what_is_allowed_is_still_said() -> None:
    assert answer(HttpResponseNotAllowed(["GET", "HEAD"]))["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("status", [200, 201, 304, 404])
def test_answers_that_are_json_already_are_left_alone(status: int) -> None:
    inner = HttpResponse(b'{"a":1}', status=status, content_type="application/json")
    response = answer(inner)
    assert (response.status_code, response.content) == (status, b'{"a":1}')


def test_every_api_answer_has_all_headers(settings: Any) -> None:
    response = answer(HttpResponse(b"{}", content_type="application/json"))
    for name in ("Limit", "Remaining", "Reset"):
        assert response[f"X-RateLimit-{name}"].isdigit()
    assert response["X-Request-Id"].startswith("req_")
    assert response["X-Service-Version"] == settings.SERVICE_VERSION
    assert response["Cache-Control"] == "no-store"


def test_a_429_for_what_no_view_counted_keeps_its_request_id() -> None:
    responses = [answer(HttpResponse("", status=404)) for _ in range(61)]
    assert [response.status_code for response in responses] == [404] * 60 + [429]
    assert responses[-1]["X-Request-Id"].startswith("req_")
    assert responses[-1]["Retry-After"].isdigit()


@pytest.mark.parametrize("path", ["/", "/c/abc", "/apis/x", "/healthz"])
def test_pages_are_left_alone_but_for_their_request_id(path: str) -> None:
    response = answer(HttpResponse("<h1>Not here</h1>", status=404), path)
    assert response.content == b"<h1>Not here</h1>"
    assert response["X-Request-Id"].startswith("req_")
    assert "X-RateLimit-Limit" not in response
    assert "X-Service-Version" not in response


def test_log_lines_of_a_request_carry_its_id_and_no_earlier_ones() -> None:
    seen: list[dict[str, Any]] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(dict(get_contextvars()))
        return HttpResponse("ok")

    ids = [ApiMiddleware(view)(RequestFactory().get("/"))["X-Request-Id"] for _ in range(2)]
    assert seen == [{"request_id": ids[0]}, {"request_id": ids[1]}]
    assert ids[0] != ids[1]
