"""An answer that does not end in time costs its time and no more."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import pytest

from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from wallets.chains.base import ChainUnavailableError
from wallets.chains.rpc import client
from wallets.chains.rpc.client import Node


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that lets `answer` have its first connection, once a request has come."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            request = b""
            # Head and body may come apart; hanging up on what was not read would reset the connection.
            while not request.endswith(b"}") and (piece := connection.recv(65_536)):
                request += piece
            answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


@contextmanager
def dripping(beginning: bytes) -> Iterator[str]:
    """A server whose answer begins so and goes on byte by byte until the test is over."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(beginning)
            while not over.wait(0.02):
                connection.sendall(b"a")

    with serving(drip) as url:
        yield url
        over.set()


def answering(answer: bytes) -> AbstractContextManager[str]:
    """A server that sends these bytes and hangs up."""
    return serving(lambda connection: connection.sendall(answer))


def test_a_node_that_hangs_costs_its_time_and_no_more(
    base_proxy: RpcProxy, rpc_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Or its silence would end the call as soon.
    monkeypatch.setattr(client, "SILENT_SECONDS", 60.0)
    base_proxy.fault = faults.hangs
    started = time.monotonic()
    with pytest.raises(ChainUnavailableError):
        rpc_node.call("eth_chainId", [], seconds=0.2)
    assert time.monotonic() - started < 8


@pytest.mark.parametrize(
    "beginning",
    [
        b"HTTP/1.1 200 OK\r\nX-Slow: ",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
    ],
    ids=["headers", "chunk size", "body"],
)
def test_a_node_that_answers_byte_by_byte_costs_its_time_and_no_more(beginning: bytes) -> None:
    with dripping(beginning) as url:
        node = Node(url)
        started = time.monotonic()
        with pytest.raises(ChainUnavailableError, match="ReadTimeoutError"):
            node.call("eth_chainId", [], seconds=0.3)
        assert time.monotonic() - started < 8
        node.close()


def test_an_answer_that_ends_its_connection_is_read_whole() -> None:
    body = b'{"id":1,"result":"0x1"}'
    head = b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n"
    with answering(head + body) as url:
        node = Node(url)
        assert node.call("eth_chainId", []) == "0x1"
        node.close()
