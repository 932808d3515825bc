"""DRF's JSON renderer, parser and content negotiation."""

from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from gateway.core import json
from gateway.core.api import errors


class JsonRenderer(BaseRenderer):
    """Compact UTF-8 JSON. Views may return bytes that are already JSON."""

    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the response body."""
        if data is None:
            return b""
        return data if isinstance(data, bytes) else json.dumps(data)


class JsonParser(BaseParser):
    """Strict JSON objects, nothing else."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        """Return the body's object. Raises InvalidRequestError, and RequestDataTooBig as Django does."""
        body = stream.body if isinstance(stream, HttpRequest) else stream.read()
        # Some programs on Windows write one.
        body = body.removeprefix(BOM_UTF8)
        try:
            value = json.loads(body)
        except json.NotJsonError as error:
            raise errors.InvalidRequestError("The request body is not valid JSON.", code="json_invalid") from error
        if not isinstance(value, dict):
            raise errors.InvalidRequestError("The request body must be a JSON object.", code="json_invalid")
        return value


class AlwaysJson(BaseContentNegotiation):
    """Always answers JSON and ignores the Accept header."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the JSON parser if the body claims to be JSON, else None (415)."""
        media_type = request.content_type.partition(";")[0].strip().lower()
        return parsers[0] if media_type == "application/json" else None

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """Return the JSON renderer."""
        return renderers[0], renderers[0].media_type


def json_body(request: Request) -> dict[str, Any]:
    """Return the body's object; a request without a body has an empty one."""
    data = request.data
    return data if isinstance(data, dict) else {}
