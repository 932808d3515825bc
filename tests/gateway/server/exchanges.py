"""Requests as granian tells them, served by the front."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse

from gateway.server.front import Front
from gateway.server.requests import Environ, Headers


@dataclass
class Lines:
    lines: list[tuple[str, str]]

    def items(self) -> Iterable[tuple[str, str]]:
        return self.lines


@dataclass
class Asked:
    """A request as granian tells it."""

    headers: Headers = field(default_factory=lambda: Lines([]))
    method: str = "POST"
    path: str = "/é"
    query_string: str = "a=%20"
    http_version: str = "1.1"
    server: str = "[::1]:8000"
    client: str = "[2001:db8::7]:4000"
    scheme: str = "http"


@dataclass
class Exchange:
    """Yields a body, and keeps the answer."""

    pieces: list[bytes] = field(default_factory=list)
    status: int = 0
    body: bytes = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece

    def response_bytes(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.body = status, body

    def response_stream(self, status: int, headers: Any) -> "Exchange":
        self.status = status
        return self

    async def send_bytes(self, data: bytes) -> None:
        self.body += data

    async def client_disconnect(self) -> None:
        await asyncio.Future()


Answering = Callable[[Environ], HttpResponse | StreamingHttpResponse]


def served(asked: Asked, exchange: Exchange, answering: Answering) -> Exchange:
    """Let a front serve a request by a function of its environment."""

    def django(environ: Environ, start_response: Any) -> Any:
        response = answering(environ)
        start_response(f"{response.status_code} Told", list(response.items()))
        return response

    async def serve() -> None:
        front = Front(django, threads=2)
        front.__rsgi_init__(asyncio.get_running_loop())
        await front.__rsgi__(asked, exchange)

    asyncio.run(serve())
    return exchange
