"""Django middleware: add it to MIDDLEWARE, and set FLORIN_X402.

Place it after the CORS middleware, and before everything that serves content, including caches.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from florin_x402.admissions import Admission
from florin_x402.answers import Answer, Headers, merged
from florin_x402.config import Config
from florin_x402.errors import SettingsError
from florin_x402.gate import Gate
from florin_x402.hosts import origin_of
from florin_x402.prices import Asked

_PREFIX = "florin-x402:"


class CacheClaims:
    """Claims in one of Django's caches, atomic for all processes that share it."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Add a key; return False if it exists."""
        return bool(caches[self._alias].add(_PREFIX + name, value, seconds))

    def take(self, name: str) -> str | None:
        """Remove a key; only the caller that deleted it gets its value."""
        cache = caches[self._alias]
        value = cache.get(_PREFIX + name)
        return value if value and cache.delete(_PREFIX + name) else None


class CacheAnswers:
    """Answers in one of Django's caches, for all processes that share it."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def add(self, name: str, value: bytes, *, seconds: int) -> bool:
        """Add a value; return False if there is one. Caches may refuse what is too long for them."""
        return bool(caches[self._alias].add(_PREFIX + name, value, seconds))

    def get(self, name: str) -> bytes | None:
        """Return a value; None if there is none."""
        found = caches[self._alias].get(_PREFIX + name)
        return found if isinstance(found, bytes) else None

    def remove(self, name: str) -> None:
        """Remove a value, if there is one."""
        caches[self._alias].delete(_PREFIX + name)


class X402Middleware:
    """Serves paid paths to payers only. A handler finds the Payment in `request.x402`; None if the path is free."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self.gate = Gate(config_from_settings())

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve a request."""
        entry = self.gate.enter(self._asked(request))
        payment = entry.payment if isinstance(entry, Admission) else None
        request.x402 = payment  # type: ignore[attr-defined]
        if isinstance(entry, Answer):
            return _response(entry, request)
        if entry is None:
            return self._get_response(request)
        try:
            response = self._get_response(request)
        except BaseException:
            # Django answers errors, but not the end of a worker within its handler.
            self.gate.leave(entry, status=500)
            raise
        left = self.gate.leave(entry, status=response.status_code)
        if isinstance(left, Answer):
            response.close()
            return _response(left, request)
        served = _with(response, left)
        keeper = self.gate.keeper(entry, status=served.status_code, headers=list(served.items()))
        # A stream may have no end, and one of an asynchronous view cannot be read here.
        if keeper and isinstance(served, HttpResponse):
            keeper.add(served.content)
            keeper.end()
        return served

    def _asked(self, request: HttpRequest) -> Asked:
        # Django validates the host when a view asks for it.
        origin = origin_of(request.scheme or "", request.META.get("HTTP_HOST", ""))
        return Asked(
            method=request.method or "",
            paths=tuple(dict.fromkeys((request.path, request.path_info))),
            url=self.gate.url_of(request.path, origin=origin),
            proof=request.META.get("HTTP_X_PAYMENT"),
            signed=request.META.get("HTTP_PAYMENT_SIGNATURE"),
            authorization=request.META.get("HTTP_AUTHORIZATION"),
            payment_authorization=request.META.get("HTTP_PAYMENT_AUTHORIZATION"),
            query=request.META.get("QUERY_STRING", ""),
        )


def config_from_settings() -> Config:
    """Read FLORIN_X402: the fields of Config, and `cache`, the alias of one that all processes share.

    Raises ImproperlyConfigured: with invalid settings nothing is served.
    """
    told: Mapping[str, Any] | None = getattr(settings, "FLORIN_X402", None)
    if not told:
        raise ImproperlyConfigured("FLORIN_X402 is not set.")
    fields = dict(told)
    alias = fields.pop("cache", None)
    if alias is not None:
        fields["claims"] = CacheClaims(alias)
        fields.setdefault("answers", CacheAnswers(alias))
    try:
        return Config(**fields)
    except (SettingsError, TypeError) as error:
        raise ImproperlyConfigured(f"FLORIN_X402: {error}") from error


def _response(answer: Answer, request: HttpRequest) -> HttpResponse:
    body = b"" if request.method == "HEAD" else answer.body
    response = HttpResponse(body, status=answer.status)
    del response["Content-Type"]
    for name, value in answer.headers:
        response[name] = value
    return response


def _with(response: HttpResponseBase, ours: Headers) -> HttpResponseBase:
    own = list(response.items())
    for name, _ in own:
        del response[name]
    for name, value in merged(own, ours):
        response[name] = value
    return response
