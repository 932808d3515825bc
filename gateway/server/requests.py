"""Converts the server's requests (RSGI) to Django's form (WSGI), whatever Content-Type header they come with."""

import io
import sys
from collections.abc import Iterable
from typing import Any, Final, Protocol
from urllib.parse import quote

import django
from django.core.exceptions import DisallowedHost, TooManyFieldsSent
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http import QueryDict
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from django.utils.http import parse_header_parameters

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


class Headers(Protocol):
    """A request's headers, names in lower case."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Return each line as name and value."""
        ...


class RequestScope(Protocol):
    """What granian passes about a request."""

    http_version: str
    server: str
    client: str
    scheme: str
    method: str
    path: str
    query_string: str
    headers: Headers


def environ_of(scope: RequestScope) -> Environ:
    """Return a request's WSGI environment, without its body.

    Header names with underscores are dropped: WSGI cannot distinguish them from those with hyphens, so `X_Forwarded_For`
    would get past a proxy that only replaces `X-Forwarded-For`.
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


class PlainRequest(WSGIRequest):
    """A request in UTF-8, which JSON and forms are. It ignores the header's charset, and parameters that cannot be parsed.

    Django makes a request before the first middleware runs. An error there would be answered without the headers of the API,
    and not be counted.
    """

    def _set_content_type_params(self, meta: Environ) -> None:
        written = meta.get("CONTENT_TYPE", "")
        try:
            media_type, parameters = parse_header_parameters(written)
        # The email package raises these for the parameters of RFC 2231.
        except (LookupError, TypeError, ValueError):
            media_type, parameters = written.partition(";")[0].strip().lower(), {}
            # Django REST framework and Django's parser of forms parse the header again.
            meta["CONTENT_TYPE"] = media_type
        self.content_type, self.content_params = media_type, parameters

    @cached_property
    def GET(self) -> QueryDict:  # type: ignore[override]  # noqa: N802 - Django's name; its stubs do not know its cached_property
        """The query string's parameters. Raises TooManyFieldsSent, once: pages about errors read parameters too."""
        try:
            return super().GET
        except TooManyFieldsSent:
            self.GET = QueryDict()
            raise

    def get_host(self) -> str:
        """Return the host. Raises DisallowedHost, and then drops the parameters: they may be too many for the error's page."""
        try:
            return super().get_host()
        except DisallowedHost:
            self.GET = QueryDict()
            raise

    def parse_file_upload(self, meta: Any, post_data: Any) -> tuple[QueryDict, MultiValueDict[str, Any]]:
        """Parse a form with files. Raises MultiPartParserError, also for a part's header that cannot be parsed."""
        try:
            return super().parse_file_upload(meta, post_data)
        except (LookupError, TypeError) as error:
            raise MultiPartParserError from error


class Handler(WSGIHandler):
    """Answers requests as Django does."""

    request_class = PlainRequest


def django_application() -> Handler:
    """Set up Django, and return its WSGI application."""
    django.setup(set_prefix=False)
    return Handler()
