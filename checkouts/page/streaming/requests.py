"""Requests to the stream server, and its error responses. It speaks plain ASGI: one route needs no framework."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from gateway.core import json
from gateway.core.api import errors
from gateway.core.web.client_address import client_of

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_ROUTE = re.compile(r"/c/([0-9a-hjkmnp-tv-z]{1,32})/stream")
_EVERY_ANSWER = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Vary": "Origin",
    "X-Content-Type-Options": "nosniff",
}


class ForeignOriginError(errors.GatewayError):
    """The request comes from a page of another origin."""

    status = 403
    type = "permission"
    code = None


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The requested page and the client. `origin` is empty if page and stream share one."""

    code: str
    address: str
    origin: str
    is_head: bool


def parse_request(scope: Mapping[str, Any]) -> StreamRequest:
    """Read an ASGI scope. Raises NotFoundError, MethodNotAllowedError and ForeignOriginError."""
    route = _ROUTE.fullmatch(scope["path"])
    if route is None:
        raise errors.NotFoundError("There is no such route.", code="route_missing")
    if scope["method"] not in {"GET", "HEAD"}:
        raise errors.MethodNotAllowedError("This route does not take that method.")
    if _header(scope, b"origin") and not our_origin(scope):
        raise ForeignOriginError("Only our own pages may follow a checkout.")
    peer = scope.get("client") or ("unknown", 0)
    forwarded = _header(scope, b"x-forwarded-for")
    return StreamRequest(
        code=route[1],
        address=client_of(peer[0], forwarded),
        origin=our_origin(scope),
        is_head=scope["method"] == "HEAD",
    )


def _header(scope: Mapping[str, Any], name: bytes) -> str:
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return b",".join(values).decode("latin-1")


def our_origin(scope: Mapping[str, Any]) -> str:
    """Return the requesting page's origin if it is one of ours; else empty."""
    origin = _header(scope, b"origin")
    parts = (urlsplit(base) for base in (settings.CHECKOUT_HOST, settings.BASE_URL))
    return origin if origin in {f"{p.scheme}://{p.netloc}" for p in parts} else ""


def start_message(status: int, headers: Mapping[str, str], *, origin: str = "") -> Message:
    """Return the first message of a response; `origin` may read it from another origin."""
    allowed = {"Access-Control-Allow-Origin": origin} if origin else {}
    every = {**_EVERY_ANSWER, **allowed, **headers}
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in every.items()],
    }


def body_message(body: bytes, *, more: bool = False) -> Message:
    """Return a message with a part of the body; the last one unless `more`."""
    return {"type": "http.response.body", "body": body, "more_body": more}


async def refuse(send: Send, scope: Mapping[str, Any], error: errors.GatewayError) -> None:
    """Answer with an error envelope that our own pages may read."""
    body = json.dumps(error.body())
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    headers |= error.headers()
    await send(start_message(error.status, headers, origin=our_origin(scope)))
    await send(body_message(b"" if scope["method"] == "HEAD" else body))
