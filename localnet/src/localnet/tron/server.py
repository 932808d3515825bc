"""Both interfaces on one port, as TronGrid has them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from localnet.tron.grid import BadRequestError, Grid
from localnet.tron.jsonrpc import JsonRpc
from localnet.tron.rules import RateLimit, Rules

_BUSY = {"Error": "class java.lang.IllegalAccessException : lack of computing resources"}
_BANNED = {
    "Success": False,
    "Error": "The key exceeds the frequency limit(15), and the query server is suspended for 30s",
    "StatusCode": 403,
}


class Server:
    """Answers HTTP on loopback until it is stopped. `port` 0 lets the system choose."""

    def __init__(self, rpc: JsonRpc, grid: Grid, rules: Rules, *, port: int) -> None:
        self.requests = 0
        self._rpc, self._grid, self._rules = rpc, grid, rules
        self._http = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._http.server_port

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def serve(self) -> None:
        """Answer in this thread, for a process of its own."""
        self._http.serve_forever()

    def answer(self, verb: str, target: str, key: str | None, body: bytes) -> tuple[int, Any]:
        """HTTP status and JSON for a request that came with this API key."""
        self.requests += 1
        if refusal := self._refusal(key):
            return refusal
        parts = urlsplit(target)
        try:
            if verb == "GET":
                return 200, self._grid.get(parts.path, dict(parse_qsl(parts.query)))
            if parts.path == "/jsonrpc":
                return 200, self._rpc.answer(json.loads(body))
            return 200, self._grid.post(parts.path, json.loads(body))
        except BadRequestError as error:
            told = {"success": False, "error": str(error), "statusCode": 400}
            return 400, told

    def _refusal(self, key: str | None) -> tuple[int, Any] | None:
        if self._rules.api_key not in {None, key}:
            return 401, {"Error": "ApiKey not exists"}
        match self._rules.rate_limit:
            case RateLimit.SERVLET:
                return 200, _BUSY
            case RateLimit.BAN:
                return 403, _BANNED
            case RateLimit.OFF:
                return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one packet, or the client's system waits 40 ms between them.
            wbufsize = -1

            def do_GET(self) -> None:
                self._answer(b"")

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, body: bytes) -> None:
                key = self.headers.get("TRON-PRO-API-KEY")
                status, told = server.answer(self.command, self.path, key, body)
                sent = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler
