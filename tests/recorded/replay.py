"""A node that answers with recorded bodies: JSON-RPC by method, REST by verb and path.

`Replay({"eth_chainId": "0x1", "GET /blocks": {...}})`. An answer may be a function: of a method's parameters, of a GET's query,
or of a POST's document. A `Refusal` is answered as a JSON-RPC error, a `Raw` as a whole HTTP answer.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error object of a JSON-RPC answer."""

    error: Any


@dataclass(frozen=True, slots=True)
class Raw:
    """An HTTP status and the JSON sent with it, outside of any envelope."""

    status: int
    document: Any


class Replay:
    """A server on a free loopback port. Use it as a context manager.

    `unanswered` lists what it was asked and has no answer to.
    """

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.unanswered: list[str] = []
        self._answers = answers
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, verb: str, target: str, body: bytes) -> tuple[int, Any]:
        """The HTTP status and JSON for a request."""
        parts = urlsplit(target)
        document = json.loads(body) if body else None
        if verb == "POST" and parts.path == "/":
            return self._rpc(document)
        question = document if verb == "POST" else parse_qs(parts.query)
        told = self._told(f"{verb} {parts.path}", question)
        if isinstance(told, Raw):
            return told.status, told.document
        return (404, {"error": "no such path"}) if told is None else (200, told)

    def _rpc(self, document: Any) -> tuple[int, Any]:
        asked = document if isinstance(document, list) else [document]
        told = [self._told(one["method"], one["params"]) for one in asked]
        for one in told:
            if isinstance(one, Raw):
                return one.status, one.document
        answers = [
            {"jsonrpc": "2.0", "id": one["id"]}
            | ({"error": got.error} if isinstance(got, Refusal) else {"result": got})
            for one, got in zip(asked, told, strict=True)
        ]
        return 200, answers if isinstance(document, list) else answers[0]

    def _told(self, name: str, question: Any) -> Any:
        if name not in self._answers:
            self.unanswered.append(name)
            return None
        told = self._answers[name]
        return told(question) if callable(told) else told

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        replay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one packet, or the client's system waits 40 ms between them.
            wbufsize = -1

            def do_GET(self) -> None:
                self._answer(b"")

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, body: bytes) -> None:
                status, told = replay.answer(self.command, self.path, body)
                sent = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler
