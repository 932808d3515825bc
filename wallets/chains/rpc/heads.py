"""Notices of new blocks that a node pushes over a WebSocket.

A notice only wakes the watcher, which reads the block from its nodes as always. A false notice costs one pass; without
notices the watcher polls.
"""

import threading
from typing import Final
from urllib.parse import urlsplit

import orjson
import structlog
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from wallets.chains.base import ChainError, ChainUnavailableError
from wallets.chains.rpc.client import Call

log = structlog.get_logger(__name__)

_OPEN_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 10.0
# How long a closed listener may take to notice it.
_TURN_SECONDS: Final = 1.0
# A header has about 2 KB.
_MOST_BYTES: Final = 64 * 1024
_LONGEST_PAUSE: Final = 60.0


class HeadNotices:
    """A subscription to a chain's new blocks. One thread calls `listen`, another one `wait`."""

    def __init__(self, url: str, subscription: Call) -> None:
        """Keep a `ws://` or `wss://` address, which may contain a key, and the JSON-RPC call that subscribes."""
        parts = urlsplit(url)
        self._url, self._label = url, f"{parts.scheme}://{parts.hostname}"
        method, params = subscription
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._call = orjson.dumps(call).decode()
        self._noticed = threading.Event()
        self._closed = threading.Event()
        self._failures = 0

    def wait(self, seconds: float) -> bool:
        """Return True after a notice or once closed, False after `seconds` without one."""
        noticed = self._noticed.wait(seconds)
        if not self._closed.is_set():
            self._noticed.clear()
        return noticed

    def close(self) -> None:
        """End `listen` within a second, and `wait` at once."""
        self._closed.set()
        self._noticed.set()

    def listen(self) -> None:
        """Receive notices until closed. Reconnect after a failure, at most a minute later."""
        while not self._closed.is_set():
            try:
                self._listen_once()
            except (OSError, WebSocketException, ChainError) as error:
                # The error's text may repeat the address, which may contain a key.
                log.warning(
                    "node pushes no blocks",
                    node=self._label,
                    error=type(error).__name__,
                )
            self._failures += 1
            self._closed.wait(min(2.0 ** min(self._failures, 6), _LONGEST_PAUSE))

    def _listen_once(self) -> None:
        with connect(
            self._url,
            open_timeout=_OPEN_SECONDS,
            close_timeout=_TURN_SECONDS,
            max_size=_MOST_BYTES,
            compression=None,
            proxy=None,
        ) as socket:
            self._subscribe(socket)
            while not self._closed.is_set():
                try:
                    socket.recv(timeout=_TURN_SECONDS)
                except TimeoutError:
                    continue
                self._failures = 0
                self._noticed.set()

    def _subscribe(self, socket: Connection) -> None:
        """Subscribe. Raises ChainUnavailableError if the node refuses."""
        socket.send(self._call)
        try:
            answer = orjson.loads(socket.recv(timeout=_ANSWER_SECONDS))
        except orjson.JSONDecodeError as error:
            raise ChainUnavailableError("The node answers no JSON.") from error
        if not isinstance(answer, dict) or "result" not in answer:
            raise ChainUnavailableError("The node refuses to push blocks.")
