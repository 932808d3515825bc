"""Converts the server's requests (RSGI) to Django's form (WSGI)."""

import io
import sys
from collections.abc import Iterable
from typing import Any, Final, Protocol
from urllib.parse import quote


class Headers(Protocol):
    """A request's headers, names in lower case."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Return each line as name and value."""
        ...


class Scope(Protocol):
    """What granian passes about a request."""

    http_version: str
    server: str
    client: str
    scheme: str
    method: str
    path: str
    query_string: str
    headers: Headers


Environ = dict[str, Any]

_CONSTANT: Final[Environ] = {
    "SCRIPT_NAME": "",
    "wsgi.errors": sys.stderr,
    "wsgi.version": (1, 0),
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
}
_PLAIN: Final = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}
_MOST_NAMES: Final = 1_000
_ASCII: Final = bytes(range(128))
_names: dict[str, str] = dict(_PLAIN)


def environ_of(scope: Scope) -> Environ:
    """Return a request's WSGI environment, without its body.

    Header names with underscores are dropped: WSGI cannot distinguish them from those with hyphens, so `X_Forwarded_For` would get
    past a proxy that only replaces `X-Forwarded-For`.
    """
    environ = _CONSTANT.copy()
    environ["REQUEST_METHOD"] = scope.method
    environ["PATH_INFO"] = scope.path.encode().decode("latin-1")
    environ["QUERY_STRING"] = _in_ascii(scope.query_string)
    environ["SERVER_PROTOCOL"] = f"HTTP/{scope.http_version}"
    environ["REMOTE_ADDR"] = _host(scope.client)
    server = scope.server
    environ["SERVER_NAME"] = _host(server)
    environ["SERVER_PORT"] = server.rpartition(":")[2]
    environ["wsgi.url_scheme"] = scope.scheme
    for header, value in scope.headers.items():
        name = _names.get(header) or _name_of(header)
        if name in environ:
            separator = "; " if name == "HTTP_COOKIE" else ","
            environ[name] += f"{separator}{value}"
        else:
            environ[name] = value
    environ.pop("", None)
    environ.setdefault("HTTP_HOST", "")
    return environ


def add_body(environ: Environ, body: bytes) -> None:
    """Add the body to a request. A Content-Length header is kept: Django uses it to refuse long bodies."""
    environ["wsgi.input"] = io.BytesIO(body)
    if "HTTP_TRANSFER_ENCODING" in environ:
        environ["CONTENT_LENGTH"] = str(len(body))


def _in_ascii(query: str) -> str:
    """Percent-encode what is not ASCII: some clients send it as it is, and pages repeat a query in addresses."""
    return query if query.isascii() else quote(query, safe=_ASCII)


def _host(address: str) -> str:
    """Return an address without its port; an IPv6 one without brackets."""
    return address.rpartition(":")[0].strip("[]")


def _name_of(header: str) -> str:
    if "_" in header:
        return ""
    name = f"HTTP_{header.upper().replace('-', '_')}"
    # Clients may send any header names.
    if len(_names) < _MOST_NAMES:
        _names[header] = name
    return name
