"""A load generator small enough to share two cores with what it measures: one thread, keep-alive, one request in
flight per client, the next one sent when the answer is whole."""

import selectors
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

_RECEIVE = 65_536


@dataclass(slots=True)
class LoadResult:
    """Answers counted by status, and how long each took, in seconds."""

    seconds: float
    statuses: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Return successful answers a second."""
        good = sum(count for status, count in self.statuses.items() if 200 <= status < 300)
        return good / self.seconds

    @property
    def failures(self) -> int:
        """Return answers that were not a success."""
        return sum(count for status, count in self.statuses.items() if not 200 <= status < 300)


class _Client:
    """One connection and the request it waits for."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.sent_at = 0.0

    def send(self, request: bytes) -> None:
        self.buffer = b""
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """Take what arrived; return the status once the answer is whole."""
        chunk = self.socket.recv(_RECEIVE)
        if not chunk:
            raise ConnectionError("the server closed the connection")
        self.buffer += chunk
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator or len(body) < _content_length(head):
            return None
        return int(head[9:12])


def _content_length(head: bytes) -> int:
    lowered = head.lower()
    start = lowered.find(b"content-length:")
    if start < 0:
        return 0
    end = lowered.find(b"\r\n", start)
    return int(lowered[start + 15 : end if end >= 0 else None])


def run_load(port: int, requests: Iterator[bytes], *, clients: int, seconds: float) -> LoadResult:
    """Send requests from `clients` connections for `seconds`; every answer is read whole."""
    connections = [_Client(port) for _ in range(clients)]
    selector = selectors.DefaultSelector()
    for client in connections:
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.send(next(requests))
    result = LoadResult(seconds=0)
    started = time.perf_counter()
    while (now := time.perf_counter()) - started < seconds:
        for key, _ in selector.select(timeout=1):
            status = key.data.receive()
            if status is not None:
                result.statuses[status] = result.statuses.get(status, 0) + 1
                result.latencies.append(time.perf_counter() - key.data.sent_at)
                key.data.send(next(requests))
    result.seconds = now - started
    for client in connections:
        client.socket.close()
    return result


def http_request(method: str, path: str, *, key: str, body: bytes = b"") -> bytes:
    """Return the bytes of one keep-alive request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body
