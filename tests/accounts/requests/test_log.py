"""Which API requests are noted, with what, and for how long."""

from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from structlog.testing import capture_logs

from accounts.keys.authentication import Principal, principal_of
from accounts.models import REQUEST_SLOTS, ApiRequest
from accounts.requests.log import ApiRequestsMiddleware, forget_old, is_waiting, write_notes
from accounts.states import Mode
from gateway.core.api.scopes import Scope
from gateway.core.web.parked_views import VISIT
from tests.contract.client import ApiClient
from tests.factories import NOON, make_key, make_merchant

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def only_its_own_notes() -> None:
    """Drop the notes of earlier tests in this process."""
    while is_waiting():
        write_notes()
    ApiRequest.objects.all().delete()


def noted() -> list[ApiRequest]:
    write_notes()
    return list(ApiRequest.objects.order_by("pk"))


def test_a_request_is_noted_with_its_answer_and_without_query_string_or_body() -> None:
    merchant = make_merchant()
    key, secret = make_key(merchant, Mode.TEST, Scope.CHECKOUTS_READ)
    answer = ApiClient(key=secret).get("/checkouts?order_ref=secret-order")
    [note] = noted()
    assert (note.merchant, note.mode, note.key_id) == (merchant, "test", key.public_id)
    assert (note.method, note.path, note.status, note.code) == ("GET", "/api/v1/checkouts", 200, "")
    assert note.request_id == answer.headers["X-Request-Id"]


def test_a_refusal_is_noted_with_its_code() -> None:
    _, secret = make_key(make_merchant(), Mode.TEST, Scope.CHECKOUTS_READ)
    client = ApiClient(key=secret)
    client.create()
    client.get("/checkouts/chk_nobody")
    client.get("/nowhere")
    client.send("DELETE", "/checkouts")
    found = [(note.method, note.status, note.code) for note in noted()]
    assert found == [
        ("POST", 403, "scope_insufficient"),
        ("GET", 404, "resource_missing"),
        ("GET", 404, "route_missing"),
        ("DELETE", 405, "method_not_allowed"),
    ]


def test_a_request_without_a_valid_key_is_nobodys() -> None:
    ApiClient(key="").get("/checkouts")
    ApiClient(key="sk_test_wrong").get("/checkouts")
    assert noted() == []


@pytest.fixture
def principal() -> Principal:
    _, secret = make_key(make_merchant())
    return principal_of(secret)


def answering(principal: Principal, response: HttpResponse) -> ApiRequestsMiddleware:
    response["X-Request-Id"] = "req_one"

    def get_response(request: HttpRequest) -> HttpResponse:
        request.principal = principal  # type: ignore[attr-defined]
        return response

    return ApiRequestsMiddleware(get_response)


def test_a_view_that_waits_is_noted_once_with_all_its_time(principal: Principal) -> None:
    visit: dict[str, Any] = {}
    request = RequestFactory().post("/api/v1/x402/settle")
    request.META[VISIT] = visit
    parked = HttpResponse()
    parked.later = Future()  # type: ignore[attr-defined]
    answering(principal, parked)(request)
    assert not is_waiting()
    visit["began"] -= 2
    answering(principal, HttpResponse())(request)
    [note] = noted()
    assert 2_000 <= note.milliseconds < 60_000


def test_what_cannot_be_written_does_not_fill_the_memory(principal: Principal) -> None:
    answer = answering(principal, HttpResponse())
    for number in range(10_001):
        answer(RequestFactory().get(f"/api/v1/{number}"))
    written = 0
    while is_waiting():
        written += write_notes()
    assert written == 10_000
    assert not ApiRequest.objects.filter(path="/api/v1/0").exists()


def test_a_path_of_any_length_and_characters_is_noted(principal: Principal) -> None:
    answer = answering(principal, HttpResponse())
    request = RequestFactory().get("/api/v1/" + "é" * 500)
    request.path_info = "/api/\x00" + "é" * 500
    answer(request)
    [note] = noted()
    assert note.path == "/api/" + "é" * 194


@pytest.mark.django_db(transaction=True)
def test_a_database_that_refuses_notes_loses_them_and_nothing_else(principal: Principal) -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError

    answering(principal, HttpResponse())(RequestFactory().get("/api/v1/one"))
    with capture_logs() as logs, connection.execute_wrapper(refuse):
        assert write_notes() == 0
    assert [(line["event"], line["requests"]) for line in logs] == [("API requests not noted", 1)]
    answering(principal, HttpResponse())(RequestFactory().get("/api/v1/two"))
    assert [note.path for note in noted()] == ["/api/v1/two"]


def test_a_week_of_requests_stays_and_the_day_before_it_goes(principal: Principal) -> None:
    moments = [NOON - timedelta(days=days) for days in range(REQUEST_SLOTS)]
    ApiRequest.objects.bulk_create(
        [
            ApiRequest(
                slot=moment.toordinal() % REQUEST_SLOTS,
                merchant_id=principal.merchant_id,
                mode=Mode.LIVE,
                status=200,
                milliseconds=1,
                asked_at=moment,
            )
            for moment in moments
        ]
    )
    forget_old(now=NOON)
    forget_old(now=NOON)
    assert sorted(ApiRequest.objects.values_list("asked_at", flat=True)) == sorted(moments[:-1])
