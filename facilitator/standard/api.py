"""The API's answers in the standard's form, and which bodies are in it."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import principal_of_request
from facilitator.idempotency import idempotency_key
from facilitator.services.using import Caller
from facilitator.standard import schemas
from facilitator.standard.settling import settle_standard
from facilitator.standard.supporting import supported_payload
from facilitator.standard.verifying import verify_standard
from gateway.core.api import ApiView
from gateway.core.errors import InvalidRequestError
from gateway.core.ratelimit import Limit
from gateway.core.wire import json_body

SUPPORTED: Final = Limit("x402", 60)


class X402Supported(ApiView):
    """`/api/v1/x402/supported`."""

    limits: ClassVar = {"GET": SUPPORTED, "HEAD": SUPPORTED}

    @extend_schema(
        operation_id="getX402Supported",
        tags=["x402"],
        responses={200: schemas.Supported, **schemas.errors(401, 429)},
    )
    def get(self, request: Request) -> Response:
        """Tell which payments of the public x402 standard are settled here."""
        principal = principal_of_request(request)
        return Response(
            supported_payload(principal.mode, merchant_id=principal.merchant_id)
        )


def verify_answer(request: Request) -> Response | None:
    """Answer a verification in the standard's form; None where the body is in the specification's."""
    return _answer(request, verify_standard)


def settle_answer(request: Request) -> Response | None:
    """Answer a settlement of one payment in the standard's form; None where a merchant's own funds are meant."""
    return _answer(request, settle_standard)


def _answer(
    request: Request, service: Callable[..., dict[str, Any]]
) -> Response | None:
    body = json_body(request)
    if "x402Version" not in body:
        return None
    if "payment" in body:
        raise InvalidRequestError(
            "A body has either payment or x402Version, not both.", param="x402Version"
        )
    principal = principal_of_request(request)
    key = idempotency_key(request)
    caller = Caller(principal.merchant_id, principal.mode, key)
    return Response(service(caller, body, clock=timezone.now))
