"""A node's endpoint that misbehaves on command, whatever it speaks: it stands between the gateway and a real node.

`HttpProxy(node.url)` passes everything on. Assign `proxy.fault` to change the next answers.
"""

import http.client
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.nodes.proxy import ProxyServer

_HOP_HEADERS = {"host", "connection", "content-length", "transfer-encoding"}


@dataclass
class Answer:
    """HTTP status, headers, body. `cut` bytes are kept back while Content-Length promises them."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0


Fault = Callable[[str, Answer], Answer]
"""Makes of a request's target and the real answer the one that is sent."""


def honest(target: str, answer: Answer) -> Answer:
    """Pass the answer on."""
    return answer


class HttpProxy:
    """A proxy on a free loopback port. Use it as a context manager."""

    def __init__(self, upstream: str) -> None:
        self.fault: Fault = honest
        self.requests = 0
        parts = urlsplit(upstream)
        self._upstream, self._path = parts.netloc, parts.path
        self._server = ProxyServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """Where the proxy answers, with the path of what is behind it."""
        return f"http://127.0.0.1:{self._server.server_port}{self._path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _ask(self, verb: str, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection(self._upstream, timeout=60)
        try:
            connection.request(verb, target, body, headers)
            answer = connection.getresponse()
            return Answer(answer.read(), status=answer.status)
        finally:
            connection.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one packet, or the client's system waits 40 ms between them.
            wbufsize = -1

            def do_GET(self) -> None:
                self._pass_on(b"")

            def do_POST(self) -> None:
                self._pass_on(self.rfile.read(int(self.headers["Content-Length"])))

            def _pass_on(self, body: bytes) -> None:
                proxy.requests += 1
                kept = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_HEADERS}
                try:
                    real = proxy._ask(self.command, self.path, body, kept)
                    self._send(proxy.fault(self.path, real))
                except OSError:
                    self.close_connection = True

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body[: len(answer.body) - answer.cut])
                if answer.cut:
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler
