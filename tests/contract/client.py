"""An API client that reads every response as strictly as the contract is written."""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.test import Client

from accounts.models import Merchant
from accounts.states import Mode
from tests.factories import make_key, make_merchant

PREFIX = "/api/v1"
NEW_SETTINGS = "FLORIN_TEST_NEW_SETTINGS"
"""Where the environment has it, each test of this folder runs with every new setting of prices on: `script/test --all` does so."""
OTHER_ERRORS = {"type", "message", "param", "code"}
TYPE_OF_STATUS = {
    400: "invalid_request",
    401: "authentication",
    403: "permission",
    404: "not_found",
    405: "invalid_request",
    409: "conflict",
    413: "invalid_request",
    415: "invalid_request",
    429: "rate_limit",
    500: "api_error",
    503: "api_error",
}
MORE = {"scope_insufficient": {"required_scope"}, "amount_not_refundable": {"refundable"}}
RETRY = re.compile(r"Too many requests\. Retry in ([0-9]+) seconds\.")


@dataclass(frozen=True)
class Answer:
    """A response whose universal promises were checked already."""

    status: int
    body: Any
    headers: Mapping[str, str]
    raw: bytes
    sent: bytes | None = None

    @property
    def error(self) -> dict[str, Any]:
        """The error object."""
        found: dict[str, Any] = self.body["error"]
        return found

    @property
    def code(self) -> str | None:
        """The error's code; None where there is no error."""
        code: str | None = self.body["error"].get("code") if self.status >= 400 else None
        return code

    @property
    def refusal(self) -> tuple[int, str | None, str | None]:
        """Status, code and parameter of an error."""
        return self.status, self.error["code"], self.error["param"]


def check(response: Any) -> Answer:
    """Check what the contract promises of every response, whatever it answers."""
    headers = response.headers
    assert re.fullmatch(r"req_\w{16,}", headers["X-Request-Id"])
    assert headers["X-Service-Version"] == settings.SERVICE_VERSION
    limit, remaining, reset = (int(headers[f"X-RateLimit-{name}"]) for name in ("Limit", "Remaining", "Reset"))
    assert 0 <= remaining <= limit
    assert reset % 60 == 0
    raw = response.getvalue()
    if response.status_code == 204:
        assert raw == b""
        return Answer(204, None, headers, raw)
    assert headers["Content-Type"].startswith("application/json") or (response.status_code == 200)
    is_json = "json" in headers["Content-Type"]
    body = json.loads(raw) if raw and is_json else None
    if response.status_code >= 400 and body is not None:
        check_envelope(response.status_code, body, headers)
    return Answer(response.status_code, body, headers, raw)


def check_envelope(status: int, body: Any, headers: Mapping[str, str]) -> None:
    """Check that an error is `{"error": {type, message, param, code}}`, and 429 two of them."""
    assert set(body) == {"error"}
    error = body["error"]
    assert error["type"] == TYPE_OF_STATUS[status]
    assert isinstance(error["message"], str)
    assert error["message"]
    if status == 429:
        assert set(error) == {"type", "message"}
        match = RETRY.fullmatch(error["message"])
        assert match
        assert headers["Retry-After"] == match.group(1)
        assert 1 <= int(match.group(1)) <= 60
        return
    assert set(error) == OTHER_ERRORS | MORE.get(error["code"], set())
    assert isinstance(error["code"], str)
    assert error["param"] is None or isinstance(error["param"], str)


def some_address() -> str:
    """A client address nobody else counts under."""
    return "10." + ".".join(str(byte) for byte in secrets.token_bytes(3))


@dataclass
class ApiClient:
    """Sends requests, with a key and from an address of its own."""

    key: str | None = None
    merchant: Merchant | None = None
    address: str = field(default_factory=some_address)

    def send(self, method: str, path: str, body: Any = None, **extra: Any) -> Answer:
        """Send a request. `body` is bytes as they are, anything else as JSON, None for no body."""
        content_type = extra.pop("content_type", "application/json")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, ensure_ascii=False).encode()
        if self.key is not None:
            extra.setdefault("HTTP_AUTHORIZATION", f"Bearer {self.key}")
        client = Client(raise_request_exception=False, REMOTE_ADDR=self.address)
        full = path if path.startswith("/api") else PREFIX + path
        response = client.generic(method, full, body or b"", content_type, **extra)
        return replace(check(response), sent=body)

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Answer:
        """GET."""
        return self.send("GET", path, QUERY_STRING=encode(query or {}))

    def post(self, path: str, body: Any) -> Answer:
        """POST JSON."""
        return self.send("POST", path, body)

    def create(self, **fields: Any) -> Answer:
        """Create a checkout of 25 USD unless told otherwise."""
        return self.post("/checkouts", {"amount": "25.00", "currency": "USD"} | fields)

    def created(self, **fields: Any) -> dict[str, Any]:
        """Create a checkout and return it."""
        answer = self.create(**fields)
        assert answer.status == 201, answer.body
        found: dict[str, Any] = answer.body
        return found


def encode(query: Mapping[str, Any]) -> str:
    """Write a query string."""
    return urlencode(query)


def client_of(merchant: Merchant | None = None, mode: Mode = Mode.TEST) -> ApiClient:
    """A client with a fresh key of the merchant."""
    merchant = merchant or make_merchant()
    _, secret = make_key(merchant, mode)
    return ApiClient(key=secret, merchant=merchant)
