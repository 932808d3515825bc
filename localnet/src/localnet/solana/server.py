"""The endpoint: JSON-RPC over HTTP on loopback, batches included, and the address of its WebSocket."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from localnet.errors import NodeError
from localnet.solana.ledger import Landed
from localnet.solana.methods import Methods
from localnet.solana.sockets import Sockets


class Server:
    """One node. Port 0 lets the system choose a free one."""

    def __init__(self, port: int) -> None:
        # LiteSVM belongs to the thread that made it, and one question at a time is enough.
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._methods = self._worker.submit(Methods).result()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler(self.answer))
        self._http.daemon_threads = True
        self._sockets = Sockets(self._confirmed)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._http.server_port

    def serve(self) -> None:
        """Answer until the process ends."""
        self._http.serve_forever()

    def answer(self, request: Any) -> Any:
        """Answer a request, or a batch of them."""
        return self._worker.submit(self._answer, request).result()

    def _confirmed(self, account: str) -> list[Landed]:
        ledger = self._methods.ledger
        naming = self._worker.submit(lambda: list(ledger.naming(account, until=ledger.slots.head("confirmed"))))
        return naming.result()

    def _answer(self, request: Any) -> Any:
        if isinstance(request, list):
            return [self._answer_one(one) for one in request]
        return self._answer_one(request)

    def _answer_one(self, request: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request.get("id")}
        params = request.get("params") or []
        if request["method"] == "sim_socket":
            return answer | {"result": f"ws://127.0.0.1:{self._sockets.port}"}
        try:
            return answer | {"result": self._methods.answer(request["method"], params)}
        except NodeError as error:
            told = {"code": error.code, "message": error.message}
            if error.data is not None:
                told["data"] = error.data
            return answer | {"error": told}


def _handler(answer: Callable[[Any], Any]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet, or the client's system waits 40 ms between them.
        wbufsize = -1

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer(request)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler
