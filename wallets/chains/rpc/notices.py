"""Notices of new blocks or transactions that a node pushes over a WebSocket.

A notice only wakes the watcher, which reads from its nodes as always. A false notice costs one pass; without notices the
watcher polls.
"""

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
import structlog
from websockets.exceptions import WebSocketException
from websockets.frames import Frame
from websockets.sync.client import ClientConnection, connect
from websockets.sync.connection import Connection

from wallets.chains.base import ChainError, ChainUnavailableError
from wallets.chains.rpc.client import Call

log = structlog.get_logger(__name__)

MOST: Final = 100
"""The maximum of subscriptions that are wanted at once. What is beyond them waits for the poll."""

_OPEN_SECONDS: Final = 5.0
# How long a closed listener may take to notice it, and a new subscription to be sent.
_TURN_SECONDS: Final = 1.0
# A header has about 2 KB. The logs of a transaction on Solana are cut off at 10 KB.
_MOST_BYTES: Final = 64 * 1024
_LONGEST_PAUSE: Final = 60.0
# After each notice, so that a node which sends very many is held back.
_PACE_SECONDS: Final = 0.05


class _NoticeConnection(ClientConnection):
    """Ends at a frame that neither adds to a message nor ends it: no limit of bytes stops endless ones from filling memory."""

    def process_event(self, event: Any) -> None:
        """Take a frame."""
        if isinstance(event, Frame) and not event.fin and not event.data:
            # The thread that reads finds the end, and `recv` raises ConnectionClosedError.
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            return
        super().process_event(event)


class Notices:
    """Subscriptions at a node. One thread calls `listen`, another one `subscribe` and `wait`."""

    def __init__(self, url: str) -> None:
        """Keep a `ws://` or `wss://` address, which may contain a key."""
        parts = urlsplit(url)
        self._url, self._label = url, f"{parts.scheme}://{parts.hostname}"
        self._wanted: frozenset[bytes] = frozenset()
        self._noticed = threading.Event()
        self._closed = threading.Event()
        self._failures = 0

    def subscribe(self, calls: Iterable[Call]) -> None:
        """Have these JSON-RPC calls made, and only these, each once per connection: those that are new within a second."""
        wanted = [
            orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) for method, params in calls
        ]
        # In a fixed order: the calls may come in another one each time, and would replace one another.
        self._wanted = frozenset(sorted(wanted)[:MOST])

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
            if not self._wanted:
                self._closed.wait(_TURN_SECONDS)
                continue
            try:
                self._listen_once()
            except (OSError, WebSocketException, ChainError) as error:
                # The error's text may repeat the address, which may contain a key.
                log.warning("node pushes no notices", node=self._label, error=type(error).__name__)
                self._failures += 1
                pause = min(2.0 ** min(self._failures, 6), _LONGEST_PAUSE)
                self._closed.wait(pause)

    def _listen_once(self) -> None:
        """Listen until closed, until nothing is wanted, or until most of what was subscribed to is no longer wanted."""
        with connect(
            self._url,
            open_timeout=_OPEN_SECONDS,
            close_timeout=_TURN_SECONDS,
            max_size=_MOST_BYTES,
            compression=None,
            proxy=None,
            create_connection=_NoticeConnection,
        ) as node:
            made: set[bytes] = set()
            accepted = refused = 0
            while not self._closed.is_set() and self._wanted and len(made) <= 2 * MOST:
                for call in self._wanted - made:
                    node.send(call, text=True)
                    made.add(call)
                message = _receive(node)
                if "method" in message:
                    self._failures = 0
                    self._noticed.set()
                    self._closed.wait(_PACE_SECONDS)
                elif "result" in message:
                    accepted += 1
                elif message:
                    refused += 1
                    self._tell_refused(accepted, refused)

    def _tell_refused(self, accepted: int, refused: int) -> None:
        """Log once per connection that a node takes no further subscription. Raises ChainUnavailableError if it took none."""
        if not accepted:
            raise ChainUnavailableError("The node refuses to push notices.")
        if refused == 1:
            log.warning("node takes no more subscriptions", node=self._label, accepted=accepted)


def _receive(node: Connection) -> dict[str, Any]:
    """Wait a second for a message; return it, empty without one. Raises ChainUnavailableError for anything but an object."""
    try:
        message = orjson.loads(node.recv(timeout=_TURN_SECONDS))
    except TimeoutError:
        return {}
    except orjson.JSONDecodeError as error:
        raise ChainUnavailableError("The node sends no JSON.") from error
    if not isinstance(message, dict) or not message:
        raise ChainUnavailableError("The node sends no JSON-RPC.")
    return message
