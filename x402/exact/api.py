"""The API's responses in the standard's form, and the detection of its bodies."""

from typing import Any, Final

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import principal_of_request
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.wire import json_body
from gateway.core.web.visits import call_again, is_client_gone, visit_of, watch_client
from x402.exact.settlement import settle_standard
from x402.exact.verification import verify_standard
from x402.exact.waiters import CalledAgainError, Waiting
from x402.idempotency import idempotency_key
from x402.payments.claims import Caller

# The settlement's state kept in its visit.
_WAITING: Final = "x402.waiting"
_PARTS: Final = frozenset({"paymentPayload", "paymentRequirements"})


def verify_answer(request: Request) -> Response | None:
    """Answer a verification in the standard's form; None if the body is in the specification's."""
    if (asked := _asked(request)) is None:
        return None
    return Response(verify_standard(*asked, clock=timezone.now))


def settle_answer(request: Request) -> Response | None:
    """Answer a settlement of one payment in the standard's form; None if it is about a merchant's own funds.

    While the payment is in progress, the front asks again.
    """
    if (asked := _asked(request)) is None:
        return None
    asker = request._request  # noqa: SLF001 - DRF offers no other way to the Django request
    visit = visit_of(asker)
    waiting = Waiting()
    if visit is not None:
        waiting = visit.setdefault(_WAITING, Waiting(in_thread=False))
    watch_client(asker)
    try:
        told = settle_standard(*asked, clock=timezone.now, waiting=waiting, is_gone=lambda: is_client_gone(asker))
        return Response(told)
    except CalledAgainError as error:
        response = Response()
        call_again(asker, response, error.after)
        return response


def _asked(request: Request) -> tuple[Caller, dict[str, Any]] | None:
    body = json_body(request)
    # Without its version it is malformed, and gets the standard's answer to that.
    if "x402Version" not in body and not body.keys() >= _PARTS:
        return None
    if "payment" in body:
        raise InvalidRequestError("A body has either payment or x402Version, not both.", param="x402Version")
    principal = principal_of_request(request)
    key = idempotency_key(request)
    return Caller(principal.merchant_id, principal.mode, key), body
