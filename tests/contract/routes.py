"""The API's routes as the URL conf has them, so that a test over all of them meets a new one by itself."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from gateway.core.api import ApiView, RouteMissing

PREFIX = "api/v1/"


def api_views() -> dict[str, type[Any]]:
    """Route to view class, `checkouts/<str:checkout_id>` for example, below /api/v1/."""
    found = dict(_walk(get_resolver().url_patterns, ""))
    return {
        route.removeprefix(PREFIX): view
        for route, view in found.items()
        if route.startswith(PREFIX) and view is not RouteMissing
    }


def operations() -> list[tuple[str, str]]:
    """Every (method, route) there is, HEAD left out."""
    return [
        (method.upper(), route)
        for route, view in api_views().items()
        for method in ApiView.http_method_names
        if method != "head" and hasattr(view, method)
    ]


def path_of(route: str, ids: Mapping[str, str] | None = None) -> str:
    """The path of a route below /api/v1, its parameters filled with `ids` by name, or with nobody's."""
    known = ids or {}
    return "/" + re.sub(r"<str:(\w+)>", lambda m: known.get(m[1], "x"), route)


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, type[Any]]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and hasattr(pattern.callback, "cls"):
            yield route, pattern.callback.cls
