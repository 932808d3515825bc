"""The API's routes as the URL conf has them, so that a test over all of them meets a new one by itself."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from gateway.core.api.views import RouteMissing

PREFIX = "api/v1/"


def api_routes() -> dict[str, list[str]]:
    """The methods of each route below /api/v1/, `checkouts/<str:checkout_id>` for example, HEAD left out."""
    found = dict(_walk(get_resolver().url_patterns, ""))
    return {
        route.removeprefix(PREFIX): _methods(view)
        for route, view in found.items()
        if route.startswith(PREFIX) and view.cls is not RouteMissing
    }


def operations() -> list[tuple[str, str]]:
    """Every (method, route) there is, HEAD left out."""
    return [(method, route) for route, methods in api_routes().items() for method in methods]


def _methods(view: Any) -> list[str]:
    """What a resource's route is bound to, or a view has."""
    bound = getattr(view, "actions", vars(view.cls))
    names = [name for name in view.cls.http_method_names if name in bound]
    return [name.upper() for name in names if name != "head"]


def path_of(route: str, ids: Mapping[str, str] | None = None) -> str:
    """The path of a route below /api/v1, its parameters filled with `ids` by name, or with nobody's."""
    known = ids or {}
    return "/" + re.sub(r"<str:(\w+)>", lambda m: known.get(m[1], "x"), route)


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and hasattr(pattern.callback, "cls"):
            yield route, pattern.callback
