"""POSTs to servers nobody can trust."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.factories import NOON
from tests.webhooks.receiver import Receiver, Reply, dripping, hanging_up, receiving
from webhooks.delivery.transport import Response, Transport

DEADLINE = 0.6
# For what is not about deadlines: the machine may stand still for a second.
PATIENCE = 30.0


def post(
    url: str,
    *,
    loopback_allowed: bool = True,
    lookup: Callable[..., Any] = socket.getaddrinfo,
    times: int = 1,
    seconds: float = PATIENCE,
) -> Response:
    """POST by a transport with a deadline; the last response if several times."""

    async def run() -> Response:
        transport = Transport(
            user_agent="test", loopback_allowed=loopback_allowed, deadline_seconds=seconds, lookup=lookup
        )
        async with transport:
            headers = {"X-Test": "1"}
            for _ in range(times - 1):
                await transport.post(url, b"{}", headers, now=NOON)
            return await transport.post(url, b"{}", headers, now=NOON)

    return asyncio.run(run())


def answering(*addresses: str) -> Callable[..., Any]:
    """A name server that gives these addresses for every name."""

    def lookup(_host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        kinds = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses]
        return [
            (kind, socket.SOCK_STREAM, 6, "", (address, port)) for kind, address in zip(kinds, addresses, strict=True)
        ]

    return lookup


def test_a_2xx_is_success_and_its_body_is_left_unread() -> None:
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(204, body=b"")
        response = post(receiver.url)
    assert response.answer.succeeded
    assert response.body == ""
    assert receiver.got[0].body == b"{}"
    assert receiver.got[0].headers["User-Agent"] == "test"
    assert receiver.got[0].headers["X-Test"] == "1"


def test_a_failures_status_headers_and_body_are_kept_for_the_merchant() -> None:
    headers = {"Retry-After": "120", "Via": "shop", "Set-Cookie": "secret=1"}
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(503, headers, b"not \x00 now \xff")
        response = post(receiver.url)
    assert response.answer.status_code == 503
    assert response.answer.retry_after is not None
    assert response.answer.retry_after.total_seconds() == 120
    assert response.body == "not \ufffd now \ufffd"
    assert response.headers["Via"] == "shop"
    assert "Set-Cookie" not in response.headers


def test_of_a_long_body_16_kb_are_kept() -> None:
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(500, body=b"x" * 200_000)
        response = post(receiver.url)
    assert response.body == "x" * 16 * 1024


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with receiving() as target, receiving() as receiver:
        receiver.reply = lambda _: Reply(status, {"Location": target.url})
        response = post(receiver.url)
    assert response.answer.status_code == status
    assert not response.answer.succeeded
    assert target.got == []


def test_a_kept_connection_that_was_closed_meanwhile_costs_no_try() -> None:
    with hanging_up() as (url, connections):
        assert post(url, times=3).answer.succeeded
    # The first serves one request; each of the others fails to be served on it, and is asked again.
    assert connections == [1, 2, 3]


HEAD = b"HTTP/1.1 500 Slow\r\nContent-Length: 99999\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "drop", "status", "error"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n", None, "timeout", id="head"),
        pytest.param(HEAD, b"x", 500, "", id="body of a failure"),
        pytest.param(b"", b"", None, "timeout", id="nothing at all"),
    ],
)
def test_an_answer_that_never_ends_is_over_at_the_deadline(
    head: bytes, drop: bytes, status: int | None, error: str
) -> None:
    with dripping(head, drop) as url:
        started = time.monotonic()
        response = post(url, seconds=DEADLINE)
        took = time.monotonic() - started
    assert (response.answer.status_code, response.answer.error) == (status, error)
    assert DEADLINE <= took < PATIENCE


def test_a_2xx_whose_body_never_ends_is_success_at_once() -> None:
    with dripping(HEAD.replace(b"500 Slow", b"200 OK"), b"x") as url:
        started = time.monotonic()
        assert post(url).answer.succeeded
        assert time.monotonic() - started < PATIENCE


def test_what_is_not_http_is_a_failure() -> None:
    with dripping(b"SSH-2.0-OpenSSH_9.2\r\n", b"\r\n") as url:
        assert post(url).answer.error == "response_invalid"


def test_a_port_where_nobody_listens_is_a_failure() -> None:
    with receiving() as receiver:
        url = receiver.url
    assert post(url).answer.error == "connection_refused"


def test_a_name_that_does_not_exist_is_a_failure() -> None:
    def nobody(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    assert post("http://shop.example/", lookup=nobody).answer.error == ("name_not_resolved")


@pytest.mark.parametrize("url", ["http://[::1", "http://", "http://a b/", "http://xn--a\u0378.example/", "x"])
def test_a_url_that_cannot_be_used_is_a_failure(url: str) -> None:
    response = post(url, lookup=answering("10.0.0.1"))
    assert response.answer.error in {"url_invalid", "forbidden_address"}


LITERALS = [
    "127.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "0.0.0.0",
    "169.254.169.254",
    "10.0.0.1",
    "[fd00:ec2::254]",
    "[64:ff9b::7f00:1]",
    "2130706433",
    "0x7f000001",
    "127.1",
    "0177.0.0.1",
]


@pytest.mark.parametrize("host", LITERALS)
def test_an_address_in_the_url_is_refused_though_no_resolver_sees_it(host: str) -> None:
    with receiving() as receiver:
        url = f"http://{host}:{receiver.port}/"
        response = post(url, loopback_allowed=False)
    assert response.answer.error in {"forbidden_address", "url_invalid"}
    assert receiver.got == []


def hits(receiver: Receiver, *answers: str) -> str:
    """The error of a POST to a name with these addresses; nothing may have arrived."""
    url = f"http://shop.example:{receiver.port}/"
    response = post(url, loopback_allowed=False, lookup=answering(*answers))
    assert receiver.got == []
    return response.answer.error


def test_a_name_that_changed_its_mind_to_loopback_is_refused() -> None:
    with receiving() as receiver:
        assert hits(receiver, "127.0.0.1") == "forbidden_address"
        assert hits(receiver, "::ffff:127.0.0.1") == "forbidden_address"


def test_one_forbidden_answer_among_good_ones_refuses_the_name() -> None:
    with receiving() as receiver:
        assert hits(receiver, "93.184.216.34", "127.0.0.1") == "forbidden_address"
        assert hits(receiver, "127.0.0.1", "93.184.216.34") == "forbidden_address"


def test_localhost_is_refused_where_loopback_is_not_allowed() -> None:
    with receiving() as receiver:
        url = f"http://localhost:{receiver.port}/"
        assert post(url, loopback_allowed=False).answer.error == "forbidden_address"
        assert post(url, lookup=answering("127.0.0.1")).answer.succeeded
    assert len(receiver.got) == 1


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert post(receiver.url).answer.succeeded
    assert proxy.got == []
