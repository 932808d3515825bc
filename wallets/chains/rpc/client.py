"""JSON-RPC and plain JSON over HTTP to one node. Its answers may be wrong, late, huge or malicious."""

import http.client
import io
import re
import socket
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import orjson
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from wallets.chains.base import ChainError, ChainUnavailableError, MalformedAnswerError, RangeTooLargeError

SILENT_SECONDS: Final = 5.0
"""No server needs longer for its next byte."""

CONNECT_SECONDS: Final = 2.0
TOTAL_SECONDS: Final = 10.0
MOST_BYTES: Final = 16 * 1024 * 1024
MOST_IN_BATCH: Final = 100
"""The largest batch; java-tron's limit."""

_PIECE_BYTES: Final = 256 * 1024
_LONGEST_MESSAGE: Final = 120
_WHOLE_BATCH: Final = "a batch"
# Error texts of Alchemy, Ankr, drpc, Infura, java-tron, publicnode and QuickNode for a range that is too large.
_RANGE: Final = re.compile(
    r"\brange|more than \d+ (?:results|logs)|too many (?:results|logs)|response size|query (?:timeout|exceeds)"
    r"|max(?:imum)? (?:results|logs)",
    re.IGNORECASE,
)
# Texts of other errors: the node has not seen the blocks yet, so a smaller range would not help.
_BEYOND_HEAD: Final = re.compile(r"beyond (?:the )?(?:current )?head", re.IGNORECASE)
_BATCH: Final = re.compile(r"\bbatch", re.IGNORECASE)
# What stopped a contract, as geth, Erigon, Nethermind, Besu, Anvil and java-tron word it; and the code of a revert.
_REVERT: Final = re.compile(
    r"revert|op_?code|operation code|bad ?instruction|out[ _]?of[ _]?(?:gas|energy)|not enough energy"
    r"|stack[ _]?(?:underflow|overflow|limit|size|too)|(?:invalid|bad)[ _]?jump|vm execution error",
    re.IGNORECASE,
)
_REVERT_CODE: Final = 3

Call = tuple[str, list[Any]]
# Error codes of servers that support no batches, or no large ones; go-ethereum's and others'.
_NO_BATCH_STATUSES: Final = frozenset({400, 405, 411, 413, 415, 422, 500, 501})
_NO_BATCH_CODES: Final = frozenset({-32700, -32600, -32601, -32602})
_RATE_CODES: Final = frozenset({429, -32005, -32029, -32097})
# 403 may mean a wrong key; either way, retrying at once is of no use.
_RATE_STATUSES: Final = frozenset({403, 429})
_BAN_SECONDS: Final = 30.0
_SUSPENDED: Final = re.compile(rb"suspended for ([0-9]{1,4}) ?s")
_BUSY: Final = "lack of computing resources"
_BUSY_SECONDS: Final = 2.0
USUAL_BATCH: Final = 50


class _Bounded(io.RawIOBase):
    """A socket's input until a deadline; TimeoutError after it."""

    def __init__(self, received: io.RawIOBase, sock: socket.socket) -> None:
        self._received = received
        self._socket = sock
        self._deadline = time.monotonic() + (sock.gettimeout() or 0.0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer does not come to an end")
        self._socket.settimeout(min(left, SILENT_SECONDS))
        count: int | None = self._received.readinto(buffer)
        return count

    def close(self) -> None:
        # The socket stays open as long as this object: the connection may have released it already.
        self._received.close()
        super().close()


class _BoundedAnswer(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_Bounded(self.fp.detach(), sock))


class _NodeConnection(HTTPConnection):
    response_class = _BoundedAnswer


class _TlsConnection(HTTPSConnection):
    response_class = _BoundedAnswer


class _Pool(HTTPConnectionPool):
    ConnectionCls = _NodeConnection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


POOLS: Final[Mapping[str, type[HTTPConnectionPool]]] = MappingProxyType({"http": _Pool, "https": _TlsPool})
"""For `PoolManager.pool_classes_by_scheme`."""


class RefusedError(ChainUnavailableError):
    """The node works but refuses this request, by a JSON-RPC error that is not about our rate.

    `is_revert`: the contract that was called stopped; anything else says nothing about it.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, is_revert: bool = False) -> None:
        super().__init__(message, retry_after=retry_after)
        self.is_revert = is_revert


class BatchRefusedError(RangeTooLargeError):
    """The node refuses a batch of this size, or any batch."""


class _StatusError(ChainUnavailableError):
    def __init__(self, message: str, *, status: int, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after=retry_after)
        self.status = status


class Node:
    """One node, with a kept connection. Not thread-safe.

    `label` names it in logs and errors: scheme, host and port, because paths and queries hold keys.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Keep the address; `headers` may hold a provider's key."""
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        self.label = f"{parts.scheme}://{host}{port}"
        self._base, self._query = f"{self.label}{parts.path}", parts.query
        self._target = _target(f"{self.label}{parts.path or '/'}", self._query)
        # Of "Bearer ...", only the key is secret.
        keys = [value.rpartition(" ")[2] for value in (headers or {}).values()]
        self._secrets = [*_secret_parts(url), *keys]
        sent = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "Florin",
            **(headers or {}),
        }
        if parts.username:
            login = f"{parts.username}:{parts.password or ''}"
            sent |= urllib3.make_headers(basic_auth=login)
        self._http = urllib3.PoolManager(num_pools=1, maxsize=1, retries=False, headers=sent)
        # On the monotonic clock; no request goes on after it.
        self.deadline: float | None = None
        # As providers count: each call of a batch is one request.
        self.requests = 0
        # Batch limits that callers found out.
        self.most_in_batch = MOST_IN_BATCH
        self._http.pool_classes_by_scheme = dict(POOLS)

    def call(self, method: str, params: list[Any], *, seconds: float = TOTAL_SECONDS) -> Any:
        """Make one call within `seconds` in total, and return its result.

        Raises ChainUnavailableError, RangeTooLargeError, MalformedAnswerError.
        """
        self.requests += 1
        answer = self._post(_request(1, (method, params)), seconds)
        return self._result(answer, method, 1)

    def get(self, path: str, query: Sequence[tuple[str, str]] = (), *, seconds: float = TOTAL_SECONDS) -> Any:
        """Return the JSON at `path`, added to the node's own address. Raises ChainUnavailableError, MalformedAnswerError."""
        self.requests += 1
        pairs = urlencode(query)
        own = "&".join(part for part in (self._query, pairs) if part)
        target = _target(f"{self._base.rstrip('/')}/{path.lstrip('/')}", own)
        return self._send("GET", target, None, seconds)

    def post(self, path: str, document: Any, *, seconds: float = TOTAL_SECONDS) -> Any:
        """Send a JSON document to `path` and return the JSON answered; raises what `get` does."""
        self.requests += 1
        target = _target(f"{self._base.rstrip('/')}/{path.lstrip('/')}", self._query)
        return self._send("POST", target, orjson.dumps(document), seconds)

    def batch(self, calls: Sequence[Call], *, seconds: float = TOTAL_SECONDS) -> list[Any]:
        """Make several calls in one HTTP request; the results are in the order of the calls.

        Raises what `call` does, for the whole batch if any part of it fails, and BatchRefusedError.
        """
        self.requests += len(calls)
        requests = [_request(number, call) for number, call in enumerate(calls)]
        answers = self._post_batch(requests, seconds)
        if isinstance(answers, dict) and answers.get("error") is not None:
            raise self._refusal(answers["error"], _WHOLE_BATCH)
        if not isinstance(answers, list):
            raise BatchRefusedError(f"{self.label} answers a batch with one thing")
        if len(answers) != len(calls):
            raise self._malformed("a batch was not answered whole")
        by_id = {
            answer["id"]: answer for answer in answers if isinstance(answer, dict) and type(answer.get("id")) is int
        }
        return [self._result(by_id.get(number), method, number) for number, (method, _) in enumerate(calls)]

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._http.clear()

    def _post(self, request: Any, seconds: float) -> Any:
        return self._send("POST", self._target, orjson.dumps(request), seconds)

    def _post_batch(self, requests: Sequence[Any], seconds: float) -> Any:
        try:
            return self._post(requests, seconds)
        except _StatusError as error:
            if error.status in _NO_BATCH_STATUSES:
                raise BatchRefusedError(str(error)) from None
            raise

    def _send(self, verb: str, target: str, body: bytes | None, seconds: float) -> Any:
        try:
            status, retry_after, answer = self._exchange(verb, target, body, seconds)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self.close()
            raise ChainUnavailableError(f"{self.label} does not answer ({type(error).__name__})") from None
        if status in _RATE_STATUSES:
            raise ChainUnavailableError(
                f"{self.label} limits our rate (HTTP status {status})",
                retry_after=retry_after or _suspension(status, answer),
            )
        return self._parse(status, answer)

    def _exchange(self, verb: str, target: str, body: bytes | None, seconds: float) -> tuple[int, float | None, bytes]:
        if self.deadline is not None:
            seconds = min(seconds, self.deadline - time.monotonic())
        if seconds <= 0:
            raise TimeoutError("the time for all questions is over")
        response = self._http.urlopen(
            verb,
            target,
            body=body,
            redirect=False,
            preload_content=False,
            decode_content=False,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, total=seconds),
        )
        try:
            read = self._read(response)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return response.status, _seconds(response.headers.get("Retry-After")), read

    def _read(self, response: urllib3.BaseHTTPResponse) -> bytes:
        pieces, size = [], 0
        while piece := response.read1(_PIECE_BYTES):
            size += len(piece)
            if size > MOST_BYTES:
                raise RangeTooLargeError(f"{self.label} sends more than 16 MB at once")
            pieces.append(piece)
        return b"".join(pieces)

    def _parse(self, status: int, body: bytes) -> Any:
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError:
            answer = None
        if isinstance(answer, dict) and isinstance(answer.get("Error"), str):
            raise self._servlet_error(answer["Error"])
        # Some providers wrap a JSON-RPC error into an HTTP one.
        if status == 200 and answer is not None:
            return answer
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            return answer
        if status != 200:
            raise _StatusError(f"{self.label} answers with HTTP status {status}", status=status)
        raise self._malformed("the answer is not JSON")

    def _servlet_error(self, message: str) -> ChainUnavailableError:
        """Map java-tron's errors outside of JSON-RPC, with HTTP status 200: usually that it is overloaded."""
        wait = _BUSY_SECONDS if _BUSY in message else None
        told = f"{self.label} refuses: {self._clean(message)}"
        return ChainUnavailableError(told, retry_after=wait)

    def _result(self, answer: Any, method: str, number: int) -> Any:
        if not isinstance(answer, dict):
            raise self._malformed(f"{method} was not answered")
        if answer.get("error") is not None:
            raise self._refusal(answer["error"], method)
        if answer.get("id") != number or "result" not in answer:
            raise self._malformed(f"{method} was answered with something else")
        return answer["result"]

    def _refusal(self, error: Any, method: str) -> ChainError:
        """Return the exception for a JSON-RPC error."""
        if not isinstance(error, dict):
            return self._malformed(f"{method} failed without saying why")
        message, code = str(error.get("message", "")), error.get("code")
        if isinstance(code, list | dict):
            return self._malformed(f"{method} failed with no code that can be read")
        told = f"{self.label} refuses {method}: {self._clean(message)} ({str(code)[:12]})"
        if method == "eth_getLogs" and _BEYOND_HEAD.search(message):
            return ChainUnavailableError(told)
        if method == "eth_getLogs" and _RANGE.search(message):
            return RangeTooLargeError(told)
        if method == _WHOLE_BATCH and (_BATCH.search(message) or code in _NO_BATCH_CODES):
            return BatchRefusedError(told)
        wait = _retry_hint(error)
        if wait is not None or code in _RATE_CODES:
            return ChainUnavailableError(told, retry_after=wait)
        is_revert = code == _REVERT_CODE or bool(_REVERT.search(message))
        return RefusedError(told, is_revert=is_revert)

    def _malformed(self, message: str) -> MalformedAnswerError:
        return MalformedAnswerError(f"{self.label}: {message}")

    def _clean(self, message: str) -> str:
        """Remove parts of our address that a provider may repeat, and characters that would break a log line."""
        for secret in self._secrets:
            message = message.replace(secret, "[redacted]")
        message = re.sub(r"https?://\S+", "[address]", message)
        return "".join(c for c in message if c.isprintable())[:_LONGEST_MESSAGE]


def _secret_parts(url: str) -> list[str]:
    """Return the parts that may be keys: log-in, longer path segments, query values.

    Longest first, so that none is left in part.
    """
    parts = urlsplit(url)
    found = [parts.username or "", parts.password or "", parts.query]
    found += parts.path.split("/")
    found += [value for pair in parts.query.split("&") for value in pair.split("=")]
    return sorted((text for text in found if len(text) > 5), key=len, reverse=True)


def _target(address: str, query: str) -> str:
    return f"{address}?{query}" if query else address


def _request(number: int, call: Call) -> dict[str, Any]:
    method, params = call
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _seconds(text: str | None) -> float | None:
    """Read a Retry-After in whole seconds; its other form, a date, is ignored."""
    return float(text) if text and re.fullmatch(r"[0-9]{1,4}", text) else None


def _suspension(status: int, body: bytes) -> float | None:
    """Return how long TronGrid blocks us, from the body; every request before then prolongs it."""
    if found := _SUSPENDED.search(body):
        return float(found[1])
    return _BAN_SECONDS if status == 403 else None


def _retry_hint(error: dict[str, Any]) -> float | None:
    data = error.get("data")
    rate = data.get("rate") if isinstance(data, dict) else None
    seconds = rate.get("backoff_seconds") if isinstance(rate, dict) else None
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0 else None


def ask_all(node: Node, calls: Sequence[Call], *, at_once: int = USUAL_BATCH) -> list[Any]:
    """Return the answers in order of the calls, asked in batches of `at_once`, or smaller ones if those are refused.

    Raises what Node.batch does but BatchRefusedError, and RangeTooLargeError where a single answer is too large.
    """
    answers: list[Any] = []
    for start in range(0, len(calls), at_once):
        answers += ask_in_parts(node, calls[start : start + at_once])
    return answers


def ask_in_parts(node: Node, calls: Sequence[Call]) -> list[Any]:
    """Ask in one request, or in smaller ones if the node refuses it or the answer is too large."""
    if len(calls) == 1:
        return [node.call(*calls[0])]
    if len(calls) > node.most_in_batch:
        return ask_all(node, calls, at_once=node.most_in_batch)
    half = (len(calls) + 1) // 2
    try:
        return node.batch(calls)
    except BatchRefusedError:
        answers = ask_all(node, calls, at_once=half)
        # Remembered only after success: if the node failed altogether, smaller batches would have failed too.
        node.most_in_batch = min(node.most_in_batch, half)
        return answers
    except RangeTooLargeError:
        return ask_all(node, calls, at_once=half)
