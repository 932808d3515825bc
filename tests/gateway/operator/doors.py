"""Every address of the operator's pages, and how it answers."""

from collections.abc import Iterator

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

# They only lead elsewhere.
OPEN = {"login", "logout", "password_change", "password_change_done", "stop_looking"}


def addresses() -> list[str]:
    """Every address of the operator's pages, with arguments that fit."""
    [found] = [
        item
        for item in get_resolver().url_patterns
        if isinstance(item, URLResolver) and str(item.pattern) == "operator/"
    ]
    return [address for name, address in _walk(found, "/operator/") if name not in OPEN]


def _walk(resolver: URLResolver, prefix: str) -> Iterator[tuple[str | None, str]]:
    for item in resolver.url_patterns:
        route = prefix + str(item.pattern)
        if isinstance(item, URLResolver):
            yield from _walk(item, route)
        elif isinstance(item, URLPattern):
            yield item.name, _filled(route)


def _filled(route: str) -> str:
    for argument in ("<path:object_id>", "<path:content_type_id>"):
        route = route.replace(argument, "1")
    return route.replace("^(?P<app_label>", "").split("|")[0].replace("(?P<url>.*)$", "x")


def locations(client: Client) -> set[str]:
    return {client.get(address)["Location"].split("?")[0] for address in addresses()}
