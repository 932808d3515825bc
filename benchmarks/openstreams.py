"""Thousands of open pages as a server sees them: streams that are read and never answered."""

import selectors
import socket
import threading
import time
from collections.abc import Sequence
from typing import Self

_PATIENCE_SECONDS = 120.0


class OpenStreams:
    """Streams of these pages, each from a client address of its own. Use it as a context manager."""

    def __init__(self, port: int, codes: Sequence[str]) -> None:
        self._port = port
        self._codes = codes
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self._told: set[int] = set()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        for number, code in enumerate(self._codes):
            self._open(number, code)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(self._told) < len(self._codes):
            if time.monotonic() > deadline:
                raise RuntimeError(f"only {len(self._told)} streams are open")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    def _open(self, number: int, code: str) -> None:
        peer = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        address = f"10.0.{number // 250}.{number % 250}"
        lines = [f"GET /c/{code}/stream HTTP/1.1", "Host: 127.0.0.1", f"X-Forwarded-For: {address}"]
        peer.sendall("\r\n".join([*lines, "", ""]).encode())
        peer.setblocking(False)
        self._selector.register(peer, selectors.EVENT_READ, number)

    def _read(self) -> None:
        while not self._stop.is_set():
            for key, _ in self._selector.select(timeout=0.1):
                if b"event: status" in key.fileobj.recv(65_536):  # type: ignore[union-attr]
                    self._told.add(key.data)
