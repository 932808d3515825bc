"""Florin's API as the demo asks it: what is refused, and what does not answer, is said in words."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from demo.gateway_api import GatewayApi, GatewayError


class Gateway(HTTPServer):
    """Answers whatever it is told to, and keeps what it was asked."""

    status, body = 201, b'{"id": "co_1"}'
    asked: tuple[str, str | None, bytes] = ("", None, b"")


class Handler(BaseHTTPRequestHandler):
    server: Gateway

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked = self.path, self.headers["Authorization"], body
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with Gateway(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def post(gateway: Gateway) -> dict[str, object]:
    api = GatewayApi(f"http://127.0.0.1:{gateway.server_port}", "sk_test_1")
    return api.post("/checkouts", {"amount": "1.00"})


@pytest.mark.parametrize("status", [200, 201])
def test_what_was_made_is_returned(gateway: Gateway, status: int) -> None:
    gateway.status = status
    assert post(gateway) == {"id": "co_1"}
    asked = ("/api/v1/checkouts", "Bearer sk_test_1", b'{"amount": "1.00"}')
    assert gateway.asked == asked


def test_a_refusal_is_told_with_its_code(gateway: Gateway) -> None:
    gateway.status = 400
    gateway.body = b'{"error": {"code": "duplicate", "message": "There is one."}}'
    with pytest.raises(GatewayError, match="Florin answered 400: There is one") as caught:
        post(gateway)
    assert caught.value.code == "duplicate"


@pytest.mark.parametrize("body", [b"", b"<h1>Bad gateway</h1>", b"[]"])
def test_what_is_no_object_is_told_as_it_came(gateway: Gateway, body: bytes) -> None:
    gateway.status, gateway.body = 502, body
    with pytest.raises(GatewayError) as caught:
        post(gateway)
    assert str(caught.value) == f"Florin answered 502: {body.decode()}"
    assert caught.value.code == ""


def test_a_gateway_that_is_away_is_said_so() -> None:
    with pytest.raises(GatewayError, match="does not answer"):
        GatewayApi("http://127.0.0.1:1", "sk_test_1").post("/checkouts", {})
