"""Every response of the API has its headers and every error its envelope; `ApiClient` checks both on each answer."""

import io
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from structlog.stdlib import ProcessorFormatter

from tests.contract.broken_urls import SECRET
from tests.contract.client import PREFIX, Answer, ApiClient, check, client_of

pytestmark = pytest.mark.django_db
BROKEN = "tests.contract.broken_urls"
LIMIT = 256 * 1024


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/", 404, "route_missing"),
        ("GET", "/api/v1", 404, "route_missing"),
        ("GET", "/api/v1/", 404, "route_missing"),
        ("GET", "/api/v2/checkouts", 404, "route_missing"),
        ("GET", "/api/v1/checkouts/", 404, "route_missing"),
        ("GET", "/api/v1/checkouts/x/y", 404, "route_missing"),
        ("POST", "/api/v1/Checkouts", 404, "route_missing"),
        ("GET", "/api/v1/checkouts%00", 404, "route_missing"),
        ("GET", "/api/v1/%ff%fe", 404, "route_missing"),
        ("GET", "/api/v1/" + "a" * 5000, 404, "route_missing"),
        ("PUT", "/api/v1/nowhere", 404, "route_missing"),
        ("OPTIONS", "/api/v1/nowhere", 404, "route_missing"),
        ("BREW", "/api/v1/nowhere", 404, "route_missing"),
        ("PUT", "/api/v1/checkouts", 405, "method_not_allowed"),
        ("DELETE", "/api/v1/checkouts", 405, "method_not_allowed"),
        ("PATCH", "/api/v1/checkouts/x", 405, "method_not_allowed"),
        ("POST", "/api/v1/checkouts/x", 405, "method_not_allowed"),
        ("GET", "/api/v1/checkouts/x/options", 405, "method_not_allowed"),
        ("OPTIONS", "/api/v1/checkouts", 405, "method_not_allowed"),
        ("TRACE", "/api/v1/checkouts", 405, "method_not_allowed"),
        ("BREW", "/api/v1/checkouts", 405, "method_not_allowed"),
        ("POST", "/api/v1/chains", 405, "method_not_allowed"),
        ("POST", "/api/v1/events", 405, "method_not_allowed"),
        ("POST", "/api/v1/openapi.json", 405, "method_not_allowed"),
    ],
)
def test_routes_and_methods_that_are_none(tester: ApiClient, method: str, path: str, status: int, code: str) -> None:
    answer = tester.send(method, path, b"{}")
    assert answer.refusal == (status, code, None)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/checkouts", {"GET", "HEAD", "POST"}),
        ("/checkouts/x", {"GET", "HEAD"}),
        ("/checkouts/x/options", {"POST"}),
        ("/links", {"GET", "HEAD", "POST"}),
        ("/links/x", {"GET", "HEAD", "PATCH"}),
        ("/links/x/status", {"PATCH"}),
        ("/links/x/qr.png", {"GET", "HEAD"}),
        ("/link_templates", {"GET", "HEAD", "POST"}),
        ("/chains", {"GET", "HEAD"}),
        ("/currencies", {"GET", "HEAD"}),
        ("/events", {"GET", "HEAD"}),
        ("/openapi.json", {"GET", "HEAD"}),
    ],
)
def test_a_405_names_the_methods_there_are(tester: ApiClient, path: str, allowed: set[str]) -> None:
    answer = tester.send("DELETE", path)
    assert answer.status == 405
    assert set(answer.headers["Allow"].split(", ")) - {"OPTIONS"} == allowed


@pytest.mark.parametrize("path", ["/checkouts", "/checkouts/x", "/events", "/nowhere"])
def test_no_key_or_a_wrong_one_gets_the_envelope_too(path: str) -> None:
    for key in (None, "sk_live_nobody"):
        answer = ApiClient(key=key).get(path)
        assert answer.status == (404 if path == "/nowhere" and key is None else 401)


def post(client: ApiClient, body: bytes, **extra: Any) -> Answer:
    return client.send("POST", "/checkouts", body, **extra)


def padded(size: int) -> bytes:
    start, end = b'{"amount":"25","currency":"USD","nope":"', b'"}'
    return start + b"x" * (size - len(start) - len(end)) + end


def test_a_body_may_be_256_kb_and_not_a_byte_more(tester: ApiClient) -> None:
    assert post(tester, padded(LIMIT)).status == 201
    answer = post(tester, padded(LIMIT + 1))
    assert answer.refusal == (413, "body_too_large", None)


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON;charset=UTF-8", " application/json "],
)
def test_bodies_that_say_they_are_json_are_read(tester: ApiClient, content_type: str) -> None:
    assert post(tester, padded(100), content_type=content_type).status == 201


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "application/xml",
        "application/jsonp",
        "application",
        "é",
        "application/json, text/plain",
    ],
)
def test_other_bodies_are_415(tester: ApiClient, content_type: str) -> None:
    answer = post(tester, padded(100), content_type=content_type)
    assert answer.refusal == (415, "media_type_unsupported", None)


@pytest.mark.parametrize("path", ["/checkouts", "/links", "/x402/verify", "/wallets"])
@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "identity, gzip", "x"])
def test_an_encoded_body_is_415(tester: ApiClient, path: str, encoding: str) -> None:
    answer = tester.send("POST", path, b"{}", HTTP_CONTENT_ENCODING=encoding)
    assert answer.refusal == (415, "media_type_unsupported", None)
    assert "Content-Encoding" in answer.error["message"]


def test_identity_and_a_byte_order_mark_change_nothing(tester: ApiClient) -> None:
    body = b"\xef\xbb\xbf" + padded(100)
    answer = tester.send("POST", "/checkouts", body, HTTP_CONTENT_ENCODING="Identity")
    assert answer.status == 201


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"1",
        b"{'amount': '25'}",
        b'{"amount": "25",}',
        b'{"amount": NaN}',
        b'{"amount": Infinity}',
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"{}{}",
        b"{} x",
        b"\x00",
    ],
)
def test_what_is_no_json_object_is_refused(tester: ApiClient, body: bytes) -> None:
    assert post(tester, body).refusal == (400, "json_invalid", None)


def test_no_body_at_all_misses_its_first_parameter(tester: ApiClient) -> None:
    assert post(tester, b"").refusal == (400, "parameter_missing", "amount")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*", "", ";q"])
def test_answers_are_json_whatever_the_client_accepts(tester: ApiClient, accept: str) -> None:
    for path in ("/checkouts", "/nowhere", "/chains"):
        answer = tester.send("GET", path, HTTP_ACCEPT=accept)
        assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.urls(BROKEN)
@pytest.mark.parametrize("path", ["/broken/bug", "/plain/bug", "/broken/denied"])
def test_a_bug_of_ours_is_a_500_that_tells_nothing_of_itself(tester: ApiClient, path: str) -> None:
    answer = tester.get(path)
    assert answer.refusal == (500, "internal", None)
    assert SECRET.encode() not in answer.raw
    assert b"Traceback" not in answer.raw
    assert b"ZeroDivision" not in answer.raw


@pytest.mark.urls(BROKEN)
def test_a_bug_is_logged_with_the_requests_id_and_without_secrets(
    tester: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_file = io.StringIO()
    monkeypatch.setattr(_our_handler(), "stream", log_file)
    answer = tester.get("/broken/bug")
    logged = log_file.getvalue()
    assert answer.headers["X-Request-Id"] in logged
    assert "ZeroDivisionError" in logged
    assert SECRET not in logged
    assert tester.key is not None
    assert tester.key not in logged


def _our_handler() -> logging.Handler:
    return next(
        handler for handler in logging.getLogger().handlers if isinstance(handler.formatter, ProcessorFormatter)
    )


@pytest.mark.urls(BROKEN)
@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("/broken/role", (403, "role_insufficient", None)),
        ("/broken/node", (503, "chain_unavailable", None)),
        ("/plain/bad", (400, "parameter_invalid", None)),
    ],
)
def test_errors_raised_anywhere_get_the_envelope(tester: ApiClient, path: str, refusal: tuple[int, str, None]) -> None:
    assert tester.get(path).refusal == refusal


def test_a_database_that_fails_is_a_500_with_the_envelope(tester: ApiClient) -> None:
    path = f"/checkouts/{tester.created()['id']}"
    with connection.execute_wrapper(_refuse):
        answer = tester.get(path)
    assert answer.refusal == (500, "internal", None)


def _refuse(execute: Callable[..., Any], *_: Any) -> Any:
    raise RuntimeError("no database")


@pytest.mark.parametrize("host", ["evil.example.test", "", "a b", "x" * 500, "[::1", "é"])
def test_a_strange_host_gets_the_headers_and_appears_in_no_url(tester: ApiClient, host: str) -> None:
    answer = tester.send("POST", "/checkouts", {"amount": "25", "currency": "USD"}, HTTP_HOST=host)
    assert answer.status in {201, 400}
    assert b"evil" not in answer.raw


def test_request_ids_differ_and_are_ours(tester: ApiClient) -> None:
    ids = {tester.send("GET", "/chains", HTTP_X_REQUEST_ID="mine").headers["X-Request-Id"] for _ in range(3)}
    assert len(ids) == 3
    assert "mine" not in ids


def test_a_401_carries_the_challenge() -> None:
    assert ApiClient().get("/checkouts").headers["WWW-Authenticate"] == "Bearer"


def test_a_refusal_of_a_route_whose_answers_may_be_kept_is_not_cached(tester: ApiClient) -> None:
    assert tester.get("/currencies").headers["Cache-Control"].startswith("private, ")
    assert tester.send("DELETE", "/currencies", b"{}").headers["Cache-Control"] == "no-store"


def test_api_answers_are_not_cached(tester: ApiClient) -> None:
    for path in ("/checkouts", "/chains", "/nowhere"):
        assert tester.get(path).headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "limit"),
    [
        ("POST", "/checkouts", 60),
        ("GET", "/checkouts", 30),
        ("GET", "/checkouts/x", 120),
        ("GET", "/events", 60),
        ("GET", "/chains", 60),
        ("GET", "/currencies", 60),
        ("POST", "/links", 60),
        ("GET", "/links", 120),
        ("GET", "/links/x", 120),
        ("PATCH", "/links/x/status", 60),
    ],
)
def test_the_headers_tell_the_routes_own_limit(tester: ApiClient, method: str, path: str, limit: int) -> None:
    first = tester.send(method, path, b"{}").headers
    second = tester.send(method, path, b"{}").headers
    assert int(first["X-RateLimit-Limit"]) == limit
    assert int(second["X-RateLimit-Remaining"]) >= limit - 2


def test_the_check_itself_sees_a_missing_header() -> None:
    client = client_of()
    response = Client().get(f"{PREFIX}/chains", HTTP_AUTHORIZATION=f"Bearer {client.key}")
    check(response)
    del response["X-RateLimit-Reset"]
    with pytest.raises(KeyError):
        check(response)
