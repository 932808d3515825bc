"""Plays the answers of scenarios on loopback, and keeps what was sent. `/s3/api/v1/checkouts` belongs to scenario 3."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

SLOW_SECONDS: Final = 0.6
"""For how long a slow answer sends its bytes; its scenario gives up before."""


class Script(ThreadingHTTPServer):
    """Answers by scenarios. `seen` has the requests of each, in order."""

    daemon_threads = True

    def __init__(self, scenarios: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scenarios = scenarios
        self.seen: list[list[dict[str, Any]]] = [[] for _ in scenarios]

    @property
    def url(self) -> str:
        """The address before `/s0`."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_about: Any) -> None:
        """Say nothing: a client may hang up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Script

    def log_message(self, *_about: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        parts = urlsplit(self.path)
        place, _, path = parts.path.removeprefix("/s").partition("/api/v1")
        number = int(place)
        seen = self.server.seen[number]
        seen.append(
            {
                "method": self.command,
                "path": unquote(path),
                "raw_path": path,
                "query": dict(parse_qsl(parts.query, keep_blank_values=True)),
                "body": body.decode(),
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "at": time.monotonic(),
                "from_port": self.client_address[1],
            }
        )
        answers = self.server.scenarios[number].get("answers", [])
        self._answer(answers[len(seen) - 1] if len(seen) <= len(answers) else {"status": 418})

    do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - the library's names

    def _answer(self, told: Mapping[str, Any]) -> None:
        trouble = told.get("trouble")
        content = (json.dumps(told["json"]) if "json" in told else told.get("text", "")).encode()
        if trouble == "close":
            self._hang_up()
            return
        self.send_response(told.get("status", 200))
        for name, value in {"Content-Type": "application/json", **told.get("headers", {})}.items():
            self.send_header(name, value)
        if told.get("status") != 204:
            self.send_header("Content-Length", str(len(content) + (9 if trouble == "cut" else 0)))
        self.end_headers()
        if trouble == "slow":
            for byte in b" " * 12:
                self.wfile.write(bytes([byte]))
                time.sleep(SLOW_SECONDS / 12)
        self.wfile.write(content)
        if trouble in {"cut", "slow"}:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def playing(scenarios: Sequence[Mapping[str, Any]]) -> Iterator[Script]:
    """Serve the scenarios in a thread."""
    with Script(scenarios) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def faults(scenario: Mapping[str, Any], seen: Sequence[Mapping[str, Any]], outcome: Mapping[str, Any]) -> list[str]:
    """Return what of a scenario came otherwise than it says, in words; nothing if all is as it should be."""
    found = []
    wanted = scenario.get("requests", [])
    if len(seen) != len(wanted):
        found.append(f"{len(seen)} requests instead of {len(wanted)}")
    for number, (sent, request) in enumerate(zip(seen, wanted, strict=False)):
        found += [f"request {number}: {fault}" for fault in _request_faults(request, sent, seen[:number])]
    if len(seen) > 1 and seen[1]["at"] - seen[0]["at"] < scenario.get("least_wait", 0):
        found.append("it did not wait")
    expected = {key: scenario[key] for key in ("result", "error") if key in scenario}
    if not _covers(expected, outcome):
        found.append(f"came to {outcome} instead of {expected}")
    return found


def _request_faults(
    wanted: Mapping[str, Any], sent: Mapping[str, Any], before: Sequence[Mapping[str, Any]]
) -> list[str]:
    found = [
        f"{name} is {sent.get(name)!r} instead of {wanted[name]!r}"
        for name in ("method", "path", "raw_path", "query")
        if name in wanted and sent.get(name) != wanted[name]
    ]
    if wanted.get("query") is None and sent["query"]:
        found.append(f"the query {sent['query']}")
    if (json.loads(sent["body"]) if sent["body"] else None) != wanted.get("json"):
        found.append(f"the body is {sent['body']!r}")
    headers = sent["headers"]
    if not headers.get("authorization", "").startswith("Bearer sk_") or not headers.get("user-agent", "").startswith(
        "florin-"
    ):
        found.append("the key or the user agent is missing")
    if sent["body"] and headers.get("content-type", "").partition(";")[0] != "application/json":
        found.append("the body is not marked as JSON")
    key = headers.get("idempotency-key")
    rule = wanted.get("key", "none")
    last = before[-1]["headers"].get("idempotency-key") if before else None
    fits = {"none": key is None, "made": bool(key) and len(key or "") >= 32, "same": bool(key) and key == last}
    if not fits.get(rule, key == rule):
        found.append(f"the Idempotency-Key is {key!r}, not {rule}")
    return found


def _covers(wanted: Any, got: Any) -> bool:
    """Whether all that is wanted is there; an object may have more."""
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(key in got and _covers(value, got[key]) for key, value in wanted.items())
    return bool(wanted == got)
