"""What applications and servers may do in each style, and the gate still decides."""

import asyncio
import threading
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from florin_x402 import Price
from florin_x402.asgi import X402Asgi
from florin_x402.claims import MemoryClaims
from florin_x402.django import config_from_settings
from florin_x402.hosts import origin_of
from florin_x402.wire import UnreadableError, decode, encode
from florin_x402.wsgi import X402Wsgi
from proofs import by_hash, second_version
from shops import call_wsgi
from standin import StandIn, Told

PRICES = {"/report": "0.01"}


class Body:
    """A body that begins its answer with its first part, and wants to be closed."""

    def __init__(self, start_response: Any) -> None:
        self._start = start_response
        self.is_closed = False

    def __iter__(self) -> Any:
        self._start("200 OK", [("Content-Type", "text/plain")])(b"written, ")
        yield b"first, "
        yield b"second"

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("pays", [True, False])
def test_a_wsgi_body_that_streams_is_served_whole_or_not_at_all_and_closed(facilitator: StandIn, pays: bool) -> None:
    bodies: list[Body] = []

    def app(environ: Any, start_response: Any) -> Body:
        bodies.append(Body(start_response))
        return bodies[-1]

    wrapped = X402Wsgi(app, facilitator.config(PRICES))
    if not pays:
        failed = b'{"success": false, "errorReason": "insufficient_funds"}'
        facilitator.tell("/settle", Told(raw=failed))
    headers = {n.replace("_", "-"): v for n, v in second_version().items()}
    reply = call_wsgi(wrapped, "GET", "/report", headers, b"")
    wrapped.gate.close()
    if pays:
        assert (reply.status, reply.body) == (200, b"written, first, second")
    else:
        assert reply.status == 402
        assert b"first" not in reply.body
    assert [body.is_closed for body in bodies] == [True]


@pytest.mark.parametrize("pattern", ["/report", "/shop/report"])
def test_a_wsgi_application_that_is_mounted_is_protected_by_both_its_paths(facilitator: StandIn, pattern: str) -> None:
    wrapped = X402Wsgi(lambda *_: [], facilitator.config({pattern: "0.01"}))
    environ = {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "/shop", "PATH_INFO": "/report", "HTTP_HOST": "shop.example"}
    statuses: list[str] = []

    def start_response(status: str, headers: Any, exc_info: Any = None, /) -> Any:
        statuses.append(status)

    wrapped(environ, start_response)
    wrapped.gate.close()
    assert statuses == ["402 Payment Required"]


def messages_of(app: Any, scope: dict[str, Any]) -> list[Any]:
    """What an application sends to a connection."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def test_a_websocket_on_a_paid_path_is_closed_and_others_are_left_alone(facilitator: StandIn) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})

    wrapped = X402Asgi(app, facilitator.config(PRICES))
    scope = {"type": "websocket", "path": "//Report", "headers": []}
    assert messages_of(wrapped, scope) == [{"type": "websocket.close", "code": 1008}]
    free = scope | {"path": "/chat"}
    assert messages_of(wrapped, free) == [{"type": "websocket.accept"}]


def test_an_asgi_application_that_answers_nothing_leaves_the_payment_usable(facilitator: StandIn) -> None:
    served: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        # What comes before the answer's start is not let out.
        await send({"type": "http.response.body", "body": b"the resource"})
        served.append(scope["florin.x402"])

    wrapped = X402Asgi(app, facilitator.config(PRICES))
    proof = by_hash()["X_PAYMENT"].encode()
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/report",
        "root_path": "/shop",
        "headers": [(b"x-payment", proof)],
    }
    assert [messages_of(wrapped, scope) for _ in range(2)] == [[], []]
    wrapped.gate.close()
    assert len(served) == 2


@pytest.mark.parametrize(
    ("make", "settle", "path"),
    [(by_hash, "after", "/verify"), (second_version, "before", "/settle"), (second_version, "after", "/settle")],
)
def test_an_asgi_request_that_is_cancelled_while_it_is_paid_leaves_the_payment_usable(
    facilitator: StandIn, make: Any, settle: Any, path: str
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        finally:
            await send({"type": "http.response.body", "body": b"the resource"})

    wrapped = X402Asgi(app, facilitator.config({"/report": Price("0.01", settle=settle)}))
    headers = [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in make().items()]
    scope = {"type": "http", "method": "GET", "path": "/report", "headers": headers}
    is_asked, may_answer = threading.Event(), threading.Event()

    def slowly(before: int) -> None:
        is_asked.set()
        may_answer.wait(60)

    async def cancelled() -> None:
        async def send(message: Any) -> None:
            raise AssertionError(message)

        asking = asyncio.create_task(wrapped(dict(scope), None, send))  # type: ignore[arg-type]
        await asyncio.to_thread(is_asked.wait, 60)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        may_answer.set()

    facilitator.overrides[path] = slowly
    # At its end it waits for its threads.
    asyncio.run(cancelled())
    told = [messages_of(wrapped, scope) for _ in range(2)]
    wrapped.gate.close()
    assert [messages[0]["status"] for messages in told] == [200, 402]
    first, second = facilitator.at(path)[:2]
    assert first.key == second.key


@pytest.mark.parametrize("told", [None, {}, {"url": "https://pay.example"}, {"unknown": 1}])
def test_django_does_not_start_without_sound_settings(told: Any) -> None:
    with override_settings(FLORIN_X402=told), pytest.raises(ImproperlyConfigured, match="FLORIN_X402"):
        config_from_settings()


@pytest.mark.parametrize("host", ["", "a b", 'x"><script>', "evil.example/path", "a@b"])
def test_a_host_that_cannot_be_one_is_not_repeated(host: str) -> None:
    assert origin_of("https", host) == "https://host.invalid"
    assert origin_of("gopher", "shop.example:8000") == "https://shop.example:8000"


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda b: b.decode("latin-1")))
def test_no_header_does_more_than_be_unreadable(text: str) -> None:
    try:
        found = decode(text)
    except UnreadableError:
        return
    assert decode(encode(found)) == found


def test_claims_of_one_process_end_and_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("florin_x402.claims._MOST", 10)
    claims = MemoryClaims()
    assert claims.add("ended", "1", seconds=0)
    assert claims.add("ended", "2", seconds=60)
    for number in range(30):
        assert claims.add(str(number), "x", seconds=60)
    assert len(claims._found) <= 11
    assert claims.take("29") == "x"


def test_claims_that_ended_make_room_before_any_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("florin_x402.claims._MOST", 10)
    claims = MemoryClaims()
    for number in range(6):
        assert claims.add(f"ended {number}", "x", seconds=0)
    for number in range(6):
        assert claims.add(str(number), "x", seconds=60)
    assert [claims.take(str(number)) for number in range(6)] == ["x"] * 6
