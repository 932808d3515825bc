"""The routes that the URL conf has, so that a test over all of them meets a new one by itself."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import IntConverter, StringConverter, UUIDConverter

from gateway.core.api.views import RouteMissing

API = "api/v1/"
_PARAMETER = re.compile(r"<(?:str|path):(\w+)>")
# What stands for an object's id in a path: nobody's, so that what is there for the asking stays as it is.
_SAMPLES = {StringConverter: "nobody", IntConverter: 1, UUIDConverter: "00000000-0000-0000-0000-000000000000"}


@dataclass(frozen=True)
class Route:
    """A route of the dashboard and what it decided."""

    name: str
    view: Any
    arguments: tuple[tuple[str, Any], ...]

    @property
    def decision(self) -> Any:
        """Which act each method takes; None where nobody decided."""
        return getattr(self.view, "decision", None)


class Written(NamedTuple):
    """A route as the URL conf writes it, such as `c/<str:code>/status`."""

    path: str
    pattern: URLPattern
    converters: dict[str, Any]


def written_routes() -> list[Written]:
    """Every route there is, in the order in which they are tried."""
    return list(_walk(get_resolver(), "", {}))


def dashboard_routes() -> list[Route]:
    """Every route under /dashboard/, whatever part of the URL conf has it."""
    return [_route(route) for route in written_routes() if route.path.startswith("dashboard/")]


def by_app(routes: Iterable[Route]) -> dict[str, list[Route]]:
    """The routes of each app, for tests that make one team or one of everything for all of them."""
    found: dict[str, list[Route]] = defaultdict(list)
    for route in routes:
        found[app_of(route)].append(route)
    return dict(found)


def app_of(route: Route) -> str:
    """The app that has a route's view."""
    return str(route.view.__module__).partition(".")[0]


def api_routes() -> dict[str, list[str]]:
    """The methods of each route below /api/v1/, `checkouts/<str:checkout_id>` for example, HEAD left out."""
    return {
        route.path.removeprefix(API): _methods(route.pattern.callback)
        for route in written_routes()
        if route.path.startswith(API) and _class_of(route) not in {None, RouteMissing}
    }


def operations() -> list[tuple[str, str]]:
    """Every (method, route) of the API there is, HEAD left out."""
    return [(method, route) for route, methods in api_routes().items() for method in methods]


def path_of(route: str, ids: Mapping[str, str] | None = None) -> str:
    """The path of a route below /api/v1, its parameters filled with `ids` by name, or with nobody's."""
    known = ids or {}
    return "/" + _PARAMETER.sub(lambda m: known.get(m[1], "x"), route)


def described(route: str) -> str:
    """A route of the API as the OpenAPI document writes it: `checkouts/{checkout_id}`."""
    return _PARAMETER.sub(r"{\1}", route)


def _class_of(route: Written) -> Any:
    return getattr(route.pattern.callback, "cls", None)


def _methods(view: Any) -> list[str]:
    """What a resource's route is bound to, or a view has."""
    bound = getattr(view, "actions", vars(view.cls))
    names = [name for name in view.cls.http_method_names if name in bound]
    return [name.upper() for name in names if name != "head"]


def _walk(resolver: URLResolver, above: str, taken: dict[str, Any]) -> Iterator[Written]:
    for item in resolver.url_patterns:
        path = above + str(item.pattern).removeprefix("^")
        converters = taken | item.pattern.converters
        if isinstance(item, URLResolver):
            yield from _walk(item, path, converters)
        else:
            yield Written(path, item, converters)


def _route(route: Written) -> Route:
    named = {name: sample_of(it) for name, it in route.converters.items() if name not in {"mer_id", "mode"}}
    return Route(str(route.pattern.name), route.pattern.callback, tuple(named.items()))


def sample_of(converter: Any) -> Any:
    """A value that a parameter of a path takes."""
    return next(sample for kind, sample in _SAMPLES.items() if isinstance(converter, kind))
