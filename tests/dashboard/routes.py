"""The routes of the dashboard, as the URL conf has them, with arguments that fit their paths."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import IntConverter, StringConverter, UUIDConverter

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


def dashboard_routes() -> list[Route]:
    """Every route under /dashboard/, whatever part of the URL conf has it."""
    return [
        _route(pattern, names)
        for path, pattern, names in _walk(get_resolver(), "", {})
        if path.startswith("dashboard/")
    ]


def _walk(resolver: URLResolver, above: str, taken: dict[str, Any]) -> Iterator[tuple[str, URLPattern, dict[str, Any]]]:
    for item in resolver.url_patterns:
        path = above + str(item.pattern).removeprefix("^")
        converters = taken | item.pattern.converters
        if isinstance(item, URLResolver):
            yield from _walk(item, path, converters)
        else:
            yield path, item, converters


def _route(pattern: URLPattern, converters: dict[str, Any]) -> Route:
    arguments = {name: _sample(converter) for name, converter in converters.items() if name not in {"mer_id", "mode"}}
    return Route(str(pattern.name), pattern.callback, tuple(arguments.items()))


def _sample(converter: Any) -> Any:
    return next(sample for kind, sample in _SAMPLES.items() if isinstance(converter, kind))
