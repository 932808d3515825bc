"""The x402 API: one set of URLs for the specification's protocol and the public standard's, told apart by their bodies."""

import re
from typing import Any, ClassVar, Final

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.keys.authentication import Principal, principal_of_request
from accounts.keys.idempotency import idempotency_key
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.api.pagination import list_body, parse_format, parse_page
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet, django_request
from gateway.core.api.wire import json_body
from gateway.core.exports import csv_response
from gateway.core.web.parked_views import call_again, is_client_gone, visit_of, watch_client
from settlements.serializers import Settlement
from settlements.sweeps.requests import settle_now
from x402 import schemas
from x402.byhash.forms import parse_settle, parse_verify
from x402.byhash.service import verify
from x402.exact.facilitator import settle_standard, verify_standard
from x402.exact.kinds import supported_payload
from x402.exact.statements import extensions, sign_offers
from x402.exact.waiting import CalledAgainError, Waiting
from x402.payloads import config_payload
from x402.payments.addresses import expect_machines, missing_chains, pay_to_everywhere, requires_signature, wallet_page
from x402.payments.claims import Caller
from x402.schemas import Settled, Supported
from x402.selectors import parse_filter, payment_page, payments_of
from x402.serializers import CSV_HEADER, X402Payment, X402PaymentList, csv_rows

_LONGEST_KEY: Final = 255
# The key of a settlement's state in its visit.
_WAITING: Final = "x402.waiting"
# RFC 7240.
_STRICT: Final = re.compile(r"(?:^|,)\s*handling\s*=\s*\"?strict\b", re.ASCII | re.IGNORECASE)
_PARTS: Final = frozenset({"paymentPayload", "paymentRequirements"})

VERIFY: Final = Limit("x402.verify", 600)
# One for each payment of the standard, as verifications are. A body without one counts as OTHER besides.
SETTLE: Final = Limit("x402.settle", 600)
# One for each address that is sold, every few minutes and in each process of a seller.
OFFERS: Final = Limit("x402.offers", 600)
OTHER: Final = Limit("x402", 60)


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
    asker = django_request(request)
    visit = visit_of(asker)
    waiting = Waiting()
    if visit is not None:
        waiting = visit.setdefault(_WAITING, Waiting(in_thread=False))
    watch_client(asker)
    try:
        told = settle_standard(*asked, clock=timezone.now, waiting=waiting, is_gone=lambda: is_client_gone(asker))
    except CalledAgainError as error:
        response = Response()
        call_again(asker, response, error.after)
        return response
    if not told["success"] and _STRICT.search(request.headers.get("Prefer", "")):
        # For middlewares that serve after any 200, whatever it says.
        raise ConflictError(f"The payment was not settled: {told['errorReason']}.")
    return Response(told)


def _asked(request: Request) -> tuple[Caller, dict[str, Any]] | None:
    body = json_body(request)
    # Without its version it is malformed, and gets the standard's answer to that.
    if "x402Version" not in body and not body.keys() >= _PARTS:
        return None
    if "payment" in body:
        raise InvalidRequestError("A body has either payment or x402Version, not both.", param="x402Version")
    principal = principal_of_request(request)
    return _caller(request, principal), body


def _caller(request: Request, principal: Principal) -> Caller:
    key = idempotency_key(request, longest=_LONGEST_KEY)
    return Caller(principal.merchant_id, principal.mode, key)


def _send_on(request: Request) -> Response:
    """Settle what a merchant's forwarders collected."""
    principal = principal_of_request(request)
    chain, token = parse_settle(json_body(request))
    written = settle_now(
        principal.merchant_id, principal.mode, chain=chain, token=token, now=timezone.now(), actor=actor_of(request)
    )
    return Response({"settlements": list(map(Settlement.of, written))}, status=202)


class X402ViewSet(ApiViewSet):
    """`/api/v1/x402`."""

    scopes: ClassVar = {
        "config": Scope.X402_VERIFY,
        "supported": Scope.X402_VERIFY,
        "offers": Scope.X402_VERIFY,
        "verify": Scope.X402_VERIFY,
        "settle": Scope.X402_SETTLE,
        "payments": Scope.X402_READ,
    }
    limits: ClassVar = {"verify": VERIFY, "settle": SETTLE, "offers": OFFERS}
    # Machines' payments are kept by the statement that uses one up, and only where it was accepted.
    own_keys: ClassVar = {"verify": _LONGEST_KEY, "settle": _LONGEST_KEY}
    other_limit: ClassVar = OTHER

    @extend_schema(
        operation_id="getX402Config", tags=["x402"], responses={200: schemas.X402Config, **schemas.errors(401, 429)}
    )
    @action(detail=False)
    def config(self, request: Request) -> Response:
        """Get the x402 configuration.

        The addresses, networks and tokens that machines pay with. `missing` lists networks without a wallet, each with the
        dashboard page on which an owner adds one.
        """
        principal = principal_of_request(request)
        found = pay_to_everywhere(principal.merchant_id, principal.mode)
        missing = missing_chains(principal.mode, found)
        if principal.mode == Mode.LIVE:
            expect_machines(principal.merchant_id, now=timezone.now())
        merchant = Merchant.objects.get(pk=principal.merchant_id)
        pages = {chain: wallet_page(merchant, chain) for chain in missing}
        is_required = requires_signature(principal.merchant_id)
        return Response(config_payload(found, pages, requires_signature=is_required))

    @extend_schema(
        operation_id="getX402Supported", tags=["x402"], responses={200: Supported, **schemas.errors(401, 429)}
    )
    @action(detail=False)
    def supported(self, request: Request) -> Response:
        """List supported x402 payment kinds.

        The schemes and networks of the public standard that this facilitator settles.
        """
        principal = principal_of_request(request)
        found = extensions(principal.mode, now=timezone.now())
        return Response(supported_payload(principal.mode, merchant_id=principal.merchant_id, extensions=found))

    @extend_schema(
        operation_id="signX402Offers",
        tags=["x402"],
        request=schemas.OfferedResource,
        responses={200: schemas.SignedOffers, **schemas.errors(400, 401, 409, 413, 415, 429)},
    )
    @action(detail=False, methods=["post"])
    def offers(self, request: Request) -> Response:
        """Sign x402 offers.

        The extension `offer-receipt` of a 402 that the resource server is about to send: each of `accepts`, signed by the key of this
        installation, for five minutes.
        """
        principal = principal_of_request(request)
        body = json_body(request)
        return Response(sign_offers(principal.merchant_id, principal.mode, body, now=timezone.now()))

    @extend_schema(
        operation_id="verifyX402Payment",
        tags=["x402"],
        request=schemas.VERIFY_BODY,
        responses={200: schemas.VERIFY_ANSWER, **schemas.errors(400, 401, 409, 413, 415, 429, 503)},
    )
    @action(detail=False, methods=["post"])
    def verify(self, request: Request) -> Response:
        """Verify an x402 payment.

        A payment by transaction hash is verified and used up: the next request with it gets `already_used`.

        With `x402Version` in the body a payment of the public standard is verified instead, which changes nothing.

        The same Idempotency-Key with the same body gets the same `valid: true` again. A proof by hash alone is a bearer token; a
        payer's signature over it binds it to the payer.
        """
        if (answer := verify_answer(request)) is not None:
            return answer
        principal = principal_of_request(request)
        caller = _caller(request, principal)
        wanted = parse_verify(json_body(request), is_test=principal.mode == Mode.TEST)
        asker = django_request(request)
        told = verify(
            caller, wanted, now=timezone.now(), watch=lambda: watch_client(asker), is_gone=lambda: is_client_gone(asker)
        )
        return Response(told)

    @extend_schema(
        operation_id="settleX402Payment",
        tags=["x402"],
        request=schemas.SETTLE_BODY,
        responses={200: Settled, 202: schemas.SettlementList, **schemas.errors(400, 401, 409, 413, 415, 429)},
    )
    @action(detail=False, methods=["post"])
    def settle(self, request: Request) -> Response:
        """Settle an x402 payment, or send on what was collected.

        Without `x402Version`, money in the merchant's forwarders is sent to its wallet: of one chain or token, or of all. 202 lists
        the settlements that began.

        With `x402Version` in the body a payment of the public standard is settled instead, and answered with 200. One settle of it is
        answered `success: true`. The same Idempotency-Key gets that answer again; any other request is told `success: false`, that
        the payment was used already, and its transaction; with `Prefer: handling=strict` it is a 409 instead. Where payers pay the
        merchant's own wallet there is nothing to send on.
        """
        if (answer := settle_answer(request)) is not None:
            return answer
        self.count_as(request, OTHER)
        return principal_of_request(request).answer_once(request, lambda: _send_on(request), longest=_LONGEST_KEY)

    @extend_schema(
        operation_id="listX402Payments",
        tags=["x402"],
        parameters=schemas.PAYMENT_PARAMETERS,
        responses={
            (200, "application/json"): X402PaymentList,
            (200, "text/csv"): OpenApiTypes.STR,
            **schemas.errors(400, 401, 429),
        },
    )
    @action(detail=False)
    def payments(self, request: Request) -> HttpResponseBase:
        """List x402 payments.

        Newest first. With `format=csv`, all of them in one file.
        """
        principal = principal_of_request(request)
        query = request.query_params
        wanted = parse_filter(principal.merchant_id, principal.mode, query)
        page = parse_page(query)
        if parse_format(query) == "csv":
            rows = csv_rows(payments_of(wanted))
            name = f"x402-{principal.mode}"
            return csv_response(name, CSV_HEADER, rows, for_people=False)
        data = [X402Payment.of(payment) for payment in payment_page(wanted, page)]
        total = payments_of(wanted).count() if page.include_total else None
        return Response(list_body(data, page, total))
