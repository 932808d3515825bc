"""The OpenAPI document, built once per process: building it takes a second of computing, and it is public."""

import threading
from functools import cache
from typing import Any

from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from gateway.core import json
from gateway.core.api.rate_limits import Limit
from gateway.core.api.views import ApiView

_MEDIA_TYPE = "application/vnd.oai.openapi+json"
_building = threading.Lock()


class OpenApiDocumentView(ApiView):
    """Serves the document to everybody, counted by the client's address."""

    key_required = False
    keyless_limit = Limit("openapi", 60)
    authentication_classes = ()

    @extend_schema(exclude=True)
    def get(self, _request: Request) -> HttpResponse:
        """Return the document as JSON."""
        # Held while it is built, so that parallel requests wait instead of building their own.
        with _building:
            body = document()
        return HttpResponse(body, content_type=_MEDIA_TYPE)


@cache
def document() -> bytes:
    """Return the document as JSON."""
    with translation.override("en"):
        generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
        return json.dumps(generator.get_schema(public=True))
