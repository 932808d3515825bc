"""ASGI middleware. It asks the facilitator in threads, so that other requests are not blocked."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeVar

from florin_x402.admissions import Admission
from florin_x402.answers import Answer, Headers, merged
from florin_x402.config import Config
from florin_x402.gate import Gate
from florin_x402.hosts import origin_of
from florin_x402.identifiers import Keeper
from florin_x402.prices import Asked

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

KEY = "florin.x402"
"""Where an application finds the Payment in its scope; None where the path is free."""

_POLICY = 1008
_Told = TypeVar("_Told")


class X402Asgi:
    """An ASGI application that serves paid paths to payers only. A WebSocket cannot be paid for."""

    def __init__(self, app: App, config: Config) -> None:
        self._app = app
        self.gate = Gate(config)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a connection."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket" and self.gate.guards(self._asked(scope)):
            await receive()
            await send({"type": "websocket.close", "code": _POLICY})
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        asked = self._asked(scope)
        entry = await _in_thread(lambda is_gone: self.gate.enter(asked, is_gone=is_gone))
        if isinstance(entry, Answer):
            await _send(entry, send, scope["method"])
            return
        payment = entry.payment if entry else None
        inner = {**scope, KEY: payment}
        if entry is None:
            await self._app(inner, receive, send)
            return
        door = _Door(self.gate, entry, send, scope["method"])
        try:
            await self._app(inner, receive, door.send)
        finally:
            await door.close()

    def _asked(self, scope: Message) -> Asked:
        root = str(scope.get("root_path") or "")
        path = str(scope["path"])
        headers = _Headers(scope["headers"])
        told = str(scope.get("scheme") or "http")
        scheme = {"ws": "http", "wss": "https"}.get(told, told)
        # Servers disagree about whether the path has the root before it.
        other = path.removeprefix(root) if path.startswith(root) else root + path
        origin = origin_of(scheme, headers.get(b"host") or "")
        return Asked(
            method=scope.get("method", "GET"),
            paths=(path, other) if root else (path,),
            url=self.gate.url_of(path, origin=origin),
            proof=headers.get(b"x-payment"),
            signed=headers.get(b"payment-signature"),
            authorization=headers.get(b"authorization"),
            payment_authorization=headers.get(b"payment-authorization"),
            query=bytes(scope.get("query_string") or b"").decode("latin-1"),
        )


class _Door:
    """Holds back the application's response until its payment is settled."""

    def __init__(self, gate: Gate, entry: Admission, send: Send, method: str) -> None:
        self._gate = gate
        self._entry = entry
        self._send = send
        self._method = method
        self._has_begun = False
        # Until the payment is settled, whatever becomes of asking for that.
        self._is_shut = True
        self._keeper: Keeper | None = None

    async def send(self, message: Message) -> None:
        """Forward a message if the payment was settled."""
        if message["type"] == "http.response.start" and not self._has_begun:
            await self._begin(message)
        elif self._has_begun and not self._is_shut:
            if self._keeper is not None:
                await asyncio.to_thread(_collect, self._keeper, message)
            await self._send(message)

    async def close(self) -> None:
        """Note that nothing was served, if so."""
        if not self._has_begun:
            await asyncio.to_thread(self._gate.leave, self._entry, status=500)

    async def _begin(self, message: Message) -> None:
        self._has_begun = True
        status = message["status"]
        left = await _in_thread(lambda is_gone: self._gate.leave(self._entry, status=status, is_gone=is_gone))
        if isinstance(left, Answer):
            await _send(left, self._send, self._method)
            return
        self._is_shut = False
        own = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", ())]
        headers = merged(own, left)
        self._keeper = self._gate.keeper(self._entry, status=message["status"], headers=headers)
        await self._send({**message, "headers": _encoded(headers)})


class _Headers:
    """A request's headers. Values of a repeated header are joined, so that they are not a valid proof."""

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._headers = list(headers)

    def get(self, wanted: bytes) -> str | None:
        found = [value for name, value in self._headers if name.lower() == wanted]
        return b", ".join(found).decode("latin-1") if found else None


async def _in_thread(ask: Callable[[Callable[[], bool]], _Told]) -> _Told:
    """Ask the gate in a thread, which goes on if the request is cancelled. It can ask whether that happened."""
    gone = threading.Event()
    try:
        return await asyncio.to_thread(ask, gone.is_set)
    except asyncio.CancelledError:
        gone.set()
        raise


def _collect(keeper: Keeper, message: Message) -> None:
    """Collect a part of an answer. It is kept before its last part is sent."""
    if message["type"] == "http.response.body":
        keeper.add(bytes(message.get("body", b"")))
        if not message.get("more_body", False):
            keeper.end()
    elif message["type"] != "http.response.trailers":
        # A file that the server sends by itself.
        keeper.drop()


def _encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _send(answer: Answer, send: Send, method: str) -> None:
    start = {"type": "http.response.start", "status": answer.status}
    await send({**start, "headers": _encoded(answer.headers)})
    body = b"" if method == "HEAD" else answer.body
    await send({"type": "http.response.body", "body": body})
