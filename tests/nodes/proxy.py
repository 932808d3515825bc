"""A node's JSON-RPC endpoint that misbehaves on command: it stands between the gateway and a real node.

`RpcProxy(node.url)` passes everything on. Assign `proxy.fault` to change what it does with the next requests.
"""

import http.client
import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.waiting import PATIENCE_SECONDS

Request = Any
"""A JSON-RPC request, or a list of them, as it was sent."""


TOO_LARGE = b"x" * (17 * 1024 * 1024)
"""More than a client reads of one answer."""


class Answer:
    """What to send: HTTP status, headers, body. `cut` bytes are kept back while Content-Length promises them."""

    def __init__(self, body: bytes, *, status: int = 200, headers: dict[str, str] | None = None, cut: int = 0) -> None:
        self.body = body
        self.status = status
        self.headers = headers or {}
        self.cut = cut


class Dropped(Exception):  # noqa: N818 - not an error: the connection is to be dropped
    """Raised by a fault to close the connection without an answer."""


Ask = Callable[[Request], Any]
"""Asks the real node; returns its answer as parsed JSON."""

Fault = Callable[["RpcProxy", Request, Ask], Answer]


class ProxyServer(ThreadingHTTPServer):
    """Serves each client in a thread that does not keep the process."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client may hang up at any time, and be killed."""


class RpcProxy:
    """A proxy on a free loopback port. Use it as a context manager."""

    def __init__(self, upstream: str) -> None:
        self.fault: Fault = honest
        self.requests = 0
        # What the newest request was sent with.
        self.last_headers: Mapping[str, str] = {}
        # What `hangs` waits for; closing the proxy sets it.
        self.released = threading.Event()
        self._upstream = urlsplit(upstream).netloc
        self._path = urlsplit(upstream).path or "/"
        self._server = ProxyServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """Where the proxy answers."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def ask(self, request: Request) -> Any:
        """Ask the real node."""
        connection = http.client.HTTPConnection(self._upstream, timeout=60)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", self._path, json.dumps(request), headers)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one packet, or the client's system waits 40 ms between them.
            wbufsize = -1

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                request = json.loads(self.rfile.read(length))
                proxy.requests += 1
                proxy.last_headers = dict(self.headers)
                try:
                    self._send(proxy.fault(proxy, request, proxy.ask))
                except (Dropped, OSError):
                    self.close_connection = True

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body[: len(answer.body) - answer.cut])
                if answer.cut:
                    raise Dropped

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler


def methods_of(request: Request) -> list[str]:
    """The methods a request asks for."""
    return [one["method"] for one in (request if isinstance(request, list) else [request])]


def changed(request: Request, answer: Any, change: Callable[[str, Any], Any]) -> Answer:
    """The node's answer with each result replaced by `change(method, result)`."""
    asked = request if isinstance(request, list) else [request]
    by_id = {one["id"]: one["method"] for one in asked}
    for one in answer if isinstance(answer, list) else [answer]:
        if "result" in one:
            one["result"] = change(by_id[one["id"]], one["result"])
    return Answer(json.dumps(answer).encode())


def honest(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Pass the request on."""
    return Answer(json.dumps(ask(request)).encode())


def hangs(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Say nothing until the proxy is closed or `released` is set."""
    proxy.released.wait(PATIENCE_SECONDS)
    raise Dropped


class Holding:
    """Answers nobody who asks for one thing any more, and says when somebody did: then a process may be killed."""

    def __init__(self, method: str) -> None:
        self.came = threading.Event()
        self._method = method

    def __call__(self, proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        """Wait, if that is asked for."""
        if self._method not in methods_of(request):
            return honest(proxy, request, ask)
        self.came.set()
        proxy.released.wait(PATIENCE_SECONDS)
        raise Dropped


def drops(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Close the connection."""
    raise Dropped


def answers_half(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Break off in the middle of the answer."""
    body = honest(proxy, request, ask).body
    return Answer(body, cut=len(body) // 2)


def answers_half_of_a_batch(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Leave out every second answer of a batch."""
    answer = ask(request)
    if isinstance(answer, list):
        answer = answer[::2]
    return Answer(json.dumps(answer).encode())


def limits_rate(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Answer 429 and ask for seven seconds."""
    return Answer(b"Too Many Requests", status=429, headers={"Retry-After": "7"})


def garbage(body: bytes = b"<html>502</html>", *, status: int = 200) -> Fault:
    """Answer every request with these bytes."""
    return lambda proxy, request, ask: Answer(body, status=status)


def too_large(*methods: str) -> Fault:
    """Answer these methods, alone or in a batch, with 17 MB, more than is read at once."""

    def fault(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        if set(methods).isdisjoint(methods_of(request)):
            return honest(proxy, request, ask)
        return Answer(TOO_LARGE)

    return fault


def refuses(code: int, message: str, *, method: str | None = None) -> Fault:
    """Answer with a JSON-RPC error; only to requests for `method`, where it is given."""

    def answer(request: Any, ask: Ask) -> Any:
        if method is not None and request["method"] != method:
            return ask(request)
        error = {"code": code, "message": message}
        return {"jsonrpc": "2.0", "id": request["id"], "error": error}

    return one_by_one(answer)


def one_by_one(answer: Callable[[Any, Ask], Any]) -> Fault:
    """Answer each request of a batch by itself."""

    def fault(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        if isinstance(request, list):
            body = [answer(one, ask) for one in request]
        else:
            body = answer(request, ask)
        return Answer(json.dumps(body).encode())

    return fault


def results(change: Callable[[str, Any], Any]) -> Fault:
    """Replace each result by `change(method, result)`."""
    return lambda proxy, request, ask: changed(request, ask(request), change)


def as_if_busy(result: Any) -> Any:
    """A header as on a busy chain, whose full filter says nothing of its block's logs; any other result as it is."""
    is_header = isinstance(result, dict) and "logsBloom" in result
    return result | {"logsBloom": f"0x{'ff' * 256}"} if is_header else result


def claims_chain(chain_id: int) -> Fault:
    """Lie about the chain id."""
    return results(lambda method, result: hex(chain_id) if method == "eth_chainId" else result)


def lags(height: int) -> Fault:
    """Behave like a node that has not seen any block above `height`."""
    return one_by_one(lambda request, ask: _lagging(request, ask, height))


def claims_newer_head(height: int) -> Fault:
    """Claim a head that it cannot show: the block number is newer than the blocks and logs it answers with."""
    behind = lags(height)

    def fault(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        honest_methods = {"eth_blockNumber", "eth_chainId"}
        if set(methods_of(request)) <= honest_methods:
            return honest(proxy, request, ask)
        return behind(proxy, request, ask)

    return fault


_SHOWN = {"eth_getBlockByNumber", "eth_getBlockByHash", "eth_getTransactionReceipt"}


def _lagging(request: dict[str, Any], ask: Ask, height: int) -> Any:
    method, params = request["method"], request["params"]
    if method == "eth_getBlockByNumber" and params[0] == "latest":
        request = request | {"params": [hex(height), *params[1:]]}
    answer = ask(request)
    result = answer.get("result")
    if method == "eth_blockNumber":
        answer["result"] = hex(height)
    elif method in _SHOWN and result:
        number = result.get("number") or result.get("blockNumber")
        answer["result"] = result if int(number, 16) <= height else None
    elif method == "eth_getLogs" and "blockHash" in params[0]:
        return _logs_of_known_block(request, answer, ask, height)
    elif method == "eth_getLogs" and isinstance(result, list):
        answer["result"] = [log for log in result if int(log["blockNumber"], 16) <= height]
    return answer


def _logs_of_known_block(request: dict[str, Any], answer: Any, ask: Ask, height: int) -> Any:
    question = {"jsonrpc": "2.0", "id": 0, "method": "eth_getBlockByHash"}
    block = ask(question | {"params": [request["params"][0]["blockHash"], False]}).get("result")
    if block is not None and int(block["number"], 16) <= height:
        return answer
    error = {"code": -32000, "message": "unknown block"}
    return {"jsonrpc": "2.0", "id": request["id"], "error": error}
