"""The Idempotency-Key of a request, which identifies repetitions."""

from typing import Final

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from gateway.core.api.errors import InvalidRequestError

_LONGEST: Final = 255
IDEMPOTENCY_KEY: Final = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "maxLength": _LONGEST},
    OpenApiParameter.HEADER,
    description="The same key with the same body gets the first answer again; with another body it is a 409.",
)
"""The header, for the OpenAPI description."""


def idempotency_key(request: Request) -> str:
    """Return a request's key, "" if it has none. Raises InvalidRequestError."""
    # `request.headers` would rebuild every header.
    key: str = request.META.get("HTTP_IDEMPOTENCY_KEY", "")
    if len(key) > _LONGEST or not key.isprintable():
        raise InvalidRequestError(
            f"Idempotency-Key must be at most {_LONGEST} printable characters.", param="Idempotency-Key"
        )
    return key
