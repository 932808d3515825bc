"""HTTP responses with a deadline for the whole response.

urllib3's read time-out restarts with every byte, so a slow server could hold a thread for ever. Here, the rest of the
time-out when the response begins limits the whole response.
"""

import http.client
import io
import socket
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

SILENT_SECONDS: Final = 5.0
"""No server needs longer for its next byte."""


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


class _Connection(HTTPConnection):
    response_class = _BoundedAnswer


class _TlsConnection(HTTPSConnection):
    response_class = _BoundedAnswer


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


POOLS: Final[Mapping[str, type[HTTPConnectionPool]]] = MappingProxyType({"http": _Pool, "https": _TlsPool})
"""For `PoolManager.pool_classes_by_scheme`."""
