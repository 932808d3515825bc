"""Receivers of webhooks: real HTTP servers on loopback, well-behaved or not."""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.waiting import PATIENCE_SECONDS


@dataclass
class Got:
    """A request as it arrived, and when (monotonic seconds)."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)


@dataclass
class Reply:
    """What to answer. `release` is waited for first, if given."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    release: threading.Event | None = None


class Receiver:
    """Keeps what it got; `reply` decides what each request is answered."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/hook"
        self.port = port
        self.got: list[Got] = []
        self.reply: Callable[[Got], Reply] = lambda _got: Reply()
        self.in_flight = 0
        self.most_in_flight = 0
        self.lock = threading.Lock()

    def ids(self) -> list[str]:
        """The event ids that arrived, in order of arrival."""
        return [got.headers["webhook-id"] for got in self.got]

    def has_got(self, count: int) -> bool:
        """Whether exactly so many requests arrived."""
        return len(self.got) == count


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    receiver: Receiver

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a sender that was killed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        got = Got(self.path, dict(self.headers), body)
        with receiver.lock:
            receiver.got.append(got)
            receiver.in_flight += 1
            receiver.most_in_flight = max(receiver.most_in_flight, receiver.in_flight)
        reply = receiver.reply(got)
        if reply.release is not None:
            reply.release.wait(PATIENCE_SECONDS)
        with receiver.lock:
            receiver.in_flight -= 1
        self._answer(reply)

    do_GET = do_POST  # noqa: N815 - the name is that of http.server

    def _answer(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A well-behaved receiver."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.receiver = Receiver(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.receiver
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def dripping(head: bytes, drop: bytes) -> Iterator[str]:
    """A server that answers `head` and then `drop` again and again, for ever; yields its URL."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        thread = threading.Thread(target=_drip, args=(listener, head, drop, done))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        done.set()
        thread.join()


def _drip(listener: socket.socket, head: bytes, drop: bytes, done: threading.Event) -> None:
    while not done.is_set():
        try:
            client, _ = listener.accept()
        except TimeoutError:
            continue
        with client:
            _answer_slowly(client, head, drop, done)


def _answer_slowly(client: socket.socket, head: bytes, drop: bytes, done: threading.Event) -> None:
    client.settimeout(5)
    try:
        client.recv(65536)
        client.sendall(head)
        while not done.wait(0.05):
            client.sendall(drop)
    except OSError:
        return


@contextmanager
def hanging_up() -> Iterator[tuple[str, list[int]]]:
    """A server that keeps connections, and hangs up at the second request of each without an answer.

    Yields its URL and the numbers of the connections it took.
    """
    connections: list[int] = []
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        args = (listener, connections, done)
        thread = threading.Thread(target=_hang_up, args=args)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/", connections
        done.set()
        thread.join()


def _hang_up(listener: socket.socket, connections: list[int], done: threading.Event) -> None:
    while not done.is_set():
        try:
            client, _ = listener.accept()
        except TimeoutError:
            continue
        with client:
            client.settimeout(5)
            connections.append(len(connections) + 1)
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            client.recv(65536)
