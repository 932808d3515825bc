"""A proxy on loopback that asks for a password: tunnels by CONNECT, and requests with a whole address as plain http has them."""

import selectors
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any, Final
from urllib.parse import urlsplit

USER, PASSWORD = "buyer", "p@ss:word"
"""Signs of addresses are in it, which the address of the proxy has to escape."""
_OPEN: Final = b"proxy-authorization: basic " + b64encode(f"{USER}:{PASSWORD}".encode()).lower()
_CHUNK: Final = 65_536
_LONGEST_HEAD: Final = 65_536


class Proxy(ThreadingTCPServer):
    """`ports` has the ports that it came to servers from; `refused` is how often the password was missing or wrong."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.ports: set[int] = set()
        self.refused = 0

    @property
    def url(self) -> str:
        """Its address, with the password."""
        return f"http://{USER}:p%40ss%3Aword@127.0.0.1:{self.server_address[1]}"

    @property
    def closed_url(self) -> str:
        """Its address without the password."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_about: Any) -> None:
        """Say nothing: a client may hang up."""


class _Handler(BaseRequestHandler):
    request: socket.socket
    server: Proxy

    def handle(self) -> None:
        head = _read_head(self.request)
        line, _, rest = head.partition(b"\r\n")
        method, _, target = line.decode("latin-1").partition(" ")
        # Base64 tells large letters from small ones, and this compares without: it is no lock, only a check that it came.
        if _OPEN not in rest.lower():
            self.server.refused += 1
            self.request.sendall(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            return
        target = target.split(" ")[0]
        place = urlsplit(f"//{target}" if method == "CONNECT" else target)
        with socket.create_connection((place.hostname or "", place.port or 80)) as upstream:
            self.server.ports.add(upstream.getsockname()[1])
            if method == "CONNECT":
                self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream.sendall(head)
            _relay(self.request, upstream)


def _read_head(link: socket.socket) -> bytes:
    """Return what came up to the end of the first request's headers, and what came with it."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _LONGEST_HEAD:
        chunk = link.recv(_CHUNK)
        if not chunk:
            raise ConnectionAbortedError
        head += chunk
    return head


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until a side hangs up."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(one, selectors.EVENT_READ, (one, other))
        waiting.register(other, selectors.EVENT_READ, (other, one))
        while True:
            for key, _ in waiting.select():
                near, far = key.data
                chunk = near.recv(_CHUNK)
                if not chunk:
                    return
                far.sendall(chunk)


@contextmanager
def proxying() -> Iterator[Proxy]:
    """Run a proxy in a thread."""
    with Proxy() as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()
