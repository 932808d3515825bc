"""The same small shop in Django's, ASGI's and WSGI's style, and one way to ask all three."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import re_path

from florin_x402 import Payment
from florin_x402.asgi import X402Asgi
from florin_x402.config import Config
from florin_x402.django import X402Middleware
from florin_x402.wire import decode, decode_url
from florin_x402.wsgi import X402Wsgi

STYLES = ("django", "asgi", "wsgi")
OpenShop = Callable[..., "Shop"]


@dataclass(frozen=True)
class Reply:
    """What a payer gets; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def told(self) -> Any:
        """The body's object."""
        return json.loads(self.body)

    def header(self, name: str) -> dict[str, Any]:
        """The object in a header."""
        return decode(self.headers[name.lower()])

    def receipt(self) -> dict[str, Any]:
        """The object in the receipt of MPP."""
        return decode_url(self.headers["payment-receipt"])


@dataclass
class Shop:
    """What every style of it serves: its handler answers `status` with the payment, and counts."""

    send: Callable[[str, str, Mapping[str, str], bytes], Reply] = field(init=False)
    status: int = 200
    served: list[Payment | None] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    content: bytes = b"the resource"
    before_answering: Callable[[], object] = lambda: None

    def handle(self, payment: Payment | None, body: bytes) -> bytes:
        """The handler."""
        self.served.append(payment)
        self.bodies.append(body)
        self.before_answering()
        if self.status == 0:
            raise ZeroDivisionError
        return self.content

    def get(self, path: str = "/report", method: str = "GET", **headers: str) -> Reply:
        """Ask for a path. Names of headers are written with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send(method, path, named, b"")


@contextmanager
def shop_in(style: str, config: Config) -> Iterator[Shop]:
    """A shop with these prices."""
    shop = Shop()
    make = {"django": _django, "asgi": _asgi, "wsgi": _wsgi}[style]
    with make(shop, config):
        yield shop


@contextmanager
def _wsgi(shop: Shop, config: Config) -> Iterator[None]:
    def app(environ: Any, start_response: Any) -> Any:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        content = shop.handle(environ["florin.x402"], body)
        headers = [("Content-Type", "text/plain"), ("Cache-Control", "public, max-age=60")]
        start_response(f"{shop.status} Status", headers)
        return [content]

    wrapped = X402Wsgi(validator(app), config)
    shop.send = lambda *asked: call_wsgi(validator(wrapped), *asked)
    try:
        yield
    finally:
        wrapped.gate.close()


def call_wsgi(app: Any, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
    path, _, query = path.partition("?")
    environ: dict[str, Any] = {"QUERY_STRING": query}
    setup_testing_defaults(environ)
    environ |= {
        "REQUEST_METHOD": method,
        "PATH_INFO": path.encode().decode("latin-1"),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
    } | {f"HTTP_{n.upper().replace('-', '_')}": value for n, value in headers.items()}
    begun: list[Any] = []

    def start_response(status: str, told: Any, exc_info: Any = None) -> Any:
        begun[:] = [int(status[:3]), {n.lower(): value for n, value in told}]
        return lambda data: None

    result = app(environ, start_response)
    content = b"".join(result)
    if hasattr(result, "close"):
        result.close()
    return Reply(begun[0], begun[1], content)


@contextmanager
def _asgi(shop: Shop, config: Config) -> Iterator[None]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        content = shop.handle(scope["florin.x402"], message["body"])
        headers = [(b"content-type", b"text/plain"), (b"cache-control", b"public")]
        start = {"type": "http.response.start", "status": shop.status}
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    wrapped = X402Asgi(app, config)
    shop.send = lambda *asked: asyncio.run(_call_asgi(wrapped, *asked))
    try:
        yield
    finally:
        wrapped.gate.close()


async def _call_asgi(app: Any, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(b"host", b"shop.example")]
    raw += [(n.lower().encode(), value.encode("latin-1")) for n, value in headers.items()]
    path, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": path, "scheme": "https"}
    await app({**scope, "headers": raw, "query_string": query.encode()}, receive, send)
    told = {n.decode(): value.decode() for n, value in sent[0]["headers"]}
    content = b"".join(one.get("body", b"") for one in sent[1:])
    return Reply(sent[0]["status"], told, content)


@contextmanager
def _django(shop: Shop, config: Config) -> Iterator[None]:
    def view(request: HttpRequest) -> HttpResponse:
        content = shop.handle(request.x402, request.body)  # type: ignore[attr-defined]
        response = HttpResponse(content, status=shop.status)
        response["Cache-Control"] = "public, max-age=60"
        return response

    urls = type("Urls", (), {"urlpatterns": [re_path("^.*$", view)]})
    fields = {name: getattr(config, name) for name in config.__dataclass_fields__}
    settings = override_settings(
        ROOT_URLCONF=urls,
        MIDDLEWARE=["shops.closable"],
        FLORIN_X402=fields,
        ALLOWED_HOSTS=["*"],
        DEBUG_PROPAGATE_EXCEPTIONS=False,
    )
    with settings, _without_database():
        handler = WSGIHandler()
        shop.send = lambda *asked: call_wsgi(handler, *asked)
        try:
            yield
        finally:
            _opened.pop().gate.close()


@contextmanager
def _without_database() -> Iterator[None]:
    """Let Django look after no database around a request: other tests of this process may have left connections."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


_opened: list[X402Middleware] = []


def closable(get_response: Any) -> X402Middleware:
    """The middleware, kept to be closed after the test."""
    _opened.append(X402Middleware(get_response))
    return _opened[-1]
