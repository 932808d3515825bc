"""A short text of a server that nobody can trust."""

import socket

import pytest

from gateway.core.fetching import MOST_BYTES, UnavailableTextError, fetch_text
from gateway.core.outbound import UrlPolicy
from tests.webhooks.receiver import Receiver, Reply, dripping, receiving

LOCAL = UrlPolicy(https_only=False, loopback_allowed=True)
PUBLIC = UrlPolicy(https_only=True, loopback_allowed=False)


def fetch(url: str, policy: UrlPolicy = LOCAL, *, seconds: float = 30.0) -> str:
    return fetch_text(url, policy=policy, seconds=seconds)


def refusal(url: str, policy: UrlPolicy = LOCAL, *, seconds: float = 30.0) -> str:
    with pytest.raises(UnavailableTextError) as refused:
        fetch(url, policy, seconds=seconds)
    return str(refused.value)


def serving(receiver: Receiver, reply: Reply) -> str:
    receiver.reply = lambda _: reply
    return receiver.url


def test_a_text_is_fetched_without_cookies_and_undecodable_bytes_are_replaced() -> None:
    with receiving() as receiver:
        assert fetch(serving(receiver, Reply(200, body=b"mer_1\xff\n"))) == "mer_1\ufffd\n"
        [got] = receiver.got
    assert "Cookie" not in got.headers
    assert got.headers["User-Agent"] == "Florin"


def test_no_more_is_read_than_a_short_text() -> None:
    with receiving() as receiver:
        assert fetch(serving(receiver, Reply(200, body=b"x" * 1_000_000))) == "x" * MOST_BYTES


@pytest.mark.parametrize("status", [204, 301, 302, 404, 500])
def test_only_200_is_an_answer_and_no_redirect_is_followed(status: int) -> None:
    with receiving() as receiver:
        reply = Reply(status, headers={"Location": receiver.url}, body=b"")
        assert refusal(serving(receiver, reply)) == f"it answers with status {status}"
        assert len(receiver.got) == 1


def test_our_own_network_is_not_asked_and_not_told_of() -> None:
    with receiving() as receiver:
        assert refusal(receiver.url, PUBLIC) == "it cannot be reached"
        assert refusal(f"http://localhost:{receiver.port}/", PUBLIC) == "it cannot be reached"
        assert receiver.got == []


def test_a_server_that_drips_or_is_gone_holds_nobody_up() -> None:
    with dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n", b"x") as url:
        assert refusal(url, seconds=0.5) == "it does not answer in time"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert refusal(f"http://127.0.0.1:{port}/") == "it cannot be reached"
