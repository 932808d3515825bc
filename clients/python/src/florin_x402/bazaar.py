"""The standard's extension `bazaar`: what catalogues show of a paid resource. Facilitators that index read it from payments.

They drop what breaks the extension's rules without a word, so that these are checked at the start.
Source: npm @x402/extensions 2.27, `sanitizeResourceServiceMetadata` and `validateDiscoveryExtension`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Final, Literal
from urllib.parse import SplitResult, urlsplit

from florin_x402.errors import SettingsError

EXTENSION: Final = "bazaar"

_BODIES: Final = frozenset({"POST", "PUT", "PATCH"})
_QUERIES: Final = frozenset({"GET", "DELETE"})
# It travels in headers, in the 402 and in the payment, where servers allow 8,192 bytes for all of them.
_LONGEST: Final = 2_000
_MOST_TAGS: Final = 5
_LONGEST_NAME: Final = 32
_ROUTE: Final = re.compile(r"/[a-zA-Z0-9_/:.~%-]+", re.ASCII)
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Listing:
    """What a catalogue shows of a resource that is asked for by `method`.

    `example` has the query's parameters, or the JSON body of a POST, PUT or PATCH; `schema` is a JSON Schema of it, without its
    type. `output` is an example of the answer. `route` is the path with names in place of what varies, such as "/reports/:ship".
    `service`, `tags` and `icon_url` describe the seller. Raises SettingsError.
    """

    method: Literal["GET", "DELETE", "POST", "PUT", "PATCH"] = "GET"
    example: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] = field(default_factory=dict)
    output: Any = None
    route: str = ""
    service: str = ""
    tags: tuple[str, ...] = ()
    icon_url: str = ""

    def __post_init__(self) -> None:
        if self.method not in _BODIES | _QUERIES:
            raise SettingsError("A listing's method is GET, DELETE, POST, PUT or PATCH.")
        if self.route and (not _ROUTE.fullmatch(self.route) or ".." in self.route):
            raise SettingsError("A listing's route is a path such as /reports/:ship.")
        if not all(map(_is_name, (*self.tags, self.service or "-"))) or len(self.tags) > _MOST_TAGS:
            raise SettingsError("A listing's service and its up to 5 tags have at most 32 ASCII characters.")
        if self.icon_url and not _is_public(self.icon_url):
            raise SettingsError("A listing's icon_url is the address of a picture on a public host.")
        if _refers_elsewhere(self.schema):
            raise SettingsError("A listing's schema refers to nothing outside itself.")
        try:
            length = len(json.dumps(self.declaration() | self.described()))
        except (TypeError, ValueError):
            raise SettingsError("A listing's example, schema and output are JSON.") from None
        if length > _LONGEST:
            raise SettingsError("A listing is longer than 2,000 bytes, and payers send it in a header.")

    def declaration(self) -> dict[str, Any]:
        """Return the extension of the 402."""
        is_body = self.method in _BODIES
        part = "body" if is_body else "queryParams"
        required = ["type", "method", *(["bodyType", "body"] if is_body else [])]
        kind = {"bodyType": "json"} if is_body else {}
        kinds: dict[str, Any] = {"bodyType": {"type": "string", "enum": ["json"]}} if is_body else {}
        properties = {
            "type": {"type": "string", "const": "http"},
            "method": {"type": "string", "enum": [self.method]},
            part: {"type": "object", **self.schema},
        }
        info: dict[str, Any] = {"input": {"type": "http", "method": self.method, **kind, part: dict(self.example)}}
        schema: dict[str, Any] = {"input": _object(properties | kinds, required)}
        if self.output is not None:
            info["output"] = {"type": "json", "example": self.output}
            schema["output"] = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
        told: dict[str, Any] = {
            "info": info,
            "schema": {"$schema": _DRAFT, "type": "object", "properties": schema, "required": ["input"]},
        }
        return {EXTENSION: told | ({"routeTemplate": self.route} if self.route else {})}

    def described(self) -> dict[str, Any]:
        """Return what is said of the seller beside the resource's address."""
        told = {"serviceName": self.service, "tags": list(self.tags), "iconUrl": self.icon_url}
        return {name: value for name, value in told.items() if value}

    def is_of(self, method: str) -> bool:
        """Whether a request is of the listed kind. HEAD is GET without a body."""
        return self.method == ("GET" if method == "HEAD" else method)


def _object(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def _is_name(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= _LONGEST_NAME and text.isascii() and text.isprintable()


def _is_public(url: str) -> bool:
    """Whether an address names a host by a name, as catalogues want it."""
    parts = _split(url)
    host = (parts and parts.hostname) or ""
    if not parts or parts.scheme not in {"http", "https"} or "." not in host or "@" in parts.netloc:
        return False
    try:
        ip_address(host)
    except ValueError:
        return host != "localhost.localdomain" and url.isprintable() and len(url) <= 2_048
    return False


def _split(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _refers_elsewhere(node: object) -> bool:
    if isinstance(node, list | tuple):
        return any(map(_refers_elsewhere, node))
    if not isinstance(node, Mapping):
        return False
    names = (node[name] for name in ("$ref", "$id") if name in node)
    outside = any(not isinstance(told, str) or not told.startswith("#") for told in names)
    return outside or any(map(_refers_elsewhere, node.values()))
