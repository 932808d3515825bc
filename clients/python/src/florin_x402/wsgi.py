"""WSGI middleware."""

from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, Any

from florin_x402.admissions import Admission
from florin_x402.answers import Answer, Headers, merged
from florin_x402.config import Config
from florin_x402.gate import Gate
from florin_x402.hosts import origin_of
from florin_x402.identifiers import Keeper
from florin_x402.prices import Asked

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

KEY = "florin.x402"
"""Where an application finds the Payment in its environ; None where the path is free."""


class X402Wsgi:
    """A WSGI application that serves paid paths to payers only."""

    def __init__(self, app: "WSGIApplication", config: Config) -> None:
        self._app = app
        self.gate = Gate(config)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Serve a request."""
        entry = self.gate.enter(self._asked(environ))
        environ[KEY] = entry.payment if isinstance(entry, Admission) else None
        if isinstance(entry, Answer):
            return _send(entry, start_response, environ["REQUEST_METHOD"])
        if entry is None:
            return self._app(environ, start_response)
        return self._admitted(entry, environ, start_response)

    def _asked(self, environ: "WSGIEnvironment") -> Asked:
        mounted, below = _path(environ, "SCRIPT_NAME"), _path(environ, "PATH_INFO")
        host = environ.get("HTTP_HOST") or environ.get("SERVER_NAME", "")
        origin = origin_of(environ.get("wsgi.url_scheme", ""), host)
        whole = mounted + below
        return Asked(
            method=environ["REQUEST_METHOD"],
            paths=(whole, below) if mounted else (whole,),
            url=self.gate.url_of(whole, origin=origin),
            proof=environ.get("HTTP_X_PAYMENT"),
            signed=environ.get("HTTP_PAYMENT_SIGNATURE"),
            authorization=environ.get("HTTP_AUTHORIZATION"),
            payment_authorization=environ.get("HTTP_PAYMENT_AUTHORIZATION"),
            query=str(environ.get("QUERY_STRING", "")),
        )

    def _admitted(
        self, entry: Admission, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        held = _Held()
        body: Iterable[bytes] = ()
        try:
            body = self._app(environ, held)
            chunks = iter(body)
            # Applications may call start_response as late as with the first part of the body.
            first = next(chunks, b"")
            status = held.code
        except BaseException:
            self.gate.leave(entry, status=500)
            _close(body)
            raise
        try:
            left = self.gate.leave(entry, status=status)
        except BaseException:
            # The payment may have been carried out: neither it nor its id is given up.
            _close(body)
            raise
        if isinstance(left, Answer):
            _close(body)
            return _send(left, start_response, environ["REQUEST_METHOD"])
        headers = merged(held.headers, left)
        keeper = self.gate.keeper(entry, status=held.code, headers=headers)
        if keeper and isinstance(body, list | tuple):
            # It is whole, whatever becomes of the connection.
            keeper.add(b"".join([*held.early, *body]))
            keeper.end()
        start_response(held.status, headers)
        return _Body([*held.early, first], chunks, body, keeper)


class _Held:
    """A start_response that keeps its arguments until the payment is settled."""

    def __init__(self) -> None:
        self.status = ""
        self.headers: Headers = []
        self.early: list[bytes] = []

    def __call__(self, status: str, headers: Headers, exc_info: Any = None, /) -> Callable[[bytes], object]:
        self.status, self.headers = status, headers
        return self.early.append

    @property
    def code(self) -> int:
        return int(self.status[:3])


class _Body:
    """The application's own body, which servers close at the end."""

    def __init__(
        self, first: list[bytes], rest: Iterator[bytes], whole: Iterable[bytes], keeper: Keeper | None
    ) -> None:
        self._first = first
        self._rest = rest
        self._whole = whole
        self._keeper = keeper

    def __iter__(self) -> Iterator[bytes]:
        if self._keeper is None:
            yield from filter(None, self._first)
            yield from self._rest
            return
        for part in chain(filter(None, self._first), self._rest):
            self._keeper.add(part)
            yield part
        self._keeper.end()

    def close(self) -> None:
        _close(self._whole)


def _path(environ: "WSGIEnvironment", name: str) -> str:
    """Read a path as PEP 3333 spells it: each character is a byte."""
    return str(environ.get(name, "")).encode("latin-1").decode(errors="replace")


def _close(body: Iterable[bytes]) -> None:
    close = getattr(body, "close", None)
    if close is not None:
        close()


def _send(answer: Answer, start_response: "StartResponse", method: str) -> Iterable[bytes]:
    # A kept answer may have a status of the application's own.
    phrase = next((one.phrase for one in HTTPStatus if one == answer.status), "Status")
    start_response(f"{answer.status} {phrase}", answer.headers)
    return [] if method == "HEAD" else [answer.body]
