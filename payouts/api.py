"""The API of refunds and payouts: programs ask, people approve and sign. No operation sends money."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.keys.authentication import Principal, principal_of_request
from accounts.models import Merchant
from gateway.core.api.errors import GatewayError
from gateway.core.api.openapi import PAGE_PARAMETERS, errors
from gateway.core.api.pagination import list_body
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from payouts import serializers
from payouts.lifecycle.mails import mail_claim
from payouts.lifecycle.recipients import Recipient, ask_recipient
from payouts.lifecycle.service import Requested, Terms, cancel_payout, request_payout, request_refund, set_address
from payouts.lifecycle.sources import source_transfers
from payouts.models import Payout
from payouts.selectors import parse_filter, payout_named, payout_objects, payout_page, payouts_wanted
from payouts.serializers import NewAddress, NewPayout, NewRefund
from payouts.states import AddressBy, PayoutKind, PayoutStatus

CREATE: Final = Limit("payouts.create", 60)
READ: Final = Limit("payouts.read", 120)
CHANGE: Final = Limit("payouts.change", 60)

_FILTERS: Final = [
    OpenApiParameter("status", str, enum=PayoutStatus.values),
    OpenApiParameter("checkout_id", str, description="Only refunds of this checkout."),
    OpenApiParameter("x402_payment_id", str, description="Only refunds of this payment by a machine."),
    OpenApiParameter("transfer_id", str, description="Only refunds that send back money of this transfer, `trf_…`."),
    OpenApiParameter("inbox_item_id", str, description="Only refunds that send back the money of this inbox item."),
    OpenApiParameter("reference", str, description="Only the one with this reference."),
    OpenApiParameter("created_after", str, description="ISO 8601; only later ones."),
    OpenApiParameter("created_before", str, description="ISO 8601; only earlier ones."),
    *PAGE_PARAMETERS,
]
_MADE: Final = {
    201: serializers.Payout,
    200: OpenApiResponse(serializers.Payout, description="The one that the same reference made earlier."),
    **errors(400, 401, 409, 413, 415, 429),
}
_CHANGED: Final = {200: serializers.Payout, **errors(400, 401, 404, 409, 413, 415, 429)}
_CANCELLED: Final = {200: serializers.Payout, **errors(401, 404, 409, 429)}


class _PayoutsViewSet(ApiViewSet):
    """What refunds and payouts share: scopes, limits, and one object."""

    kind: ClassVar[PayoutKind | None] = None
    lookup_url_kwarg = "payout_id"
    scopes: ClassVar = {
        "create": Scope.PAYOUTS_REQUEST,
        "list": Scope.PAYOUTS_READ,
        "retrieve": Scope.PAYOUTS_READ,
        "cancel": Scope.PAYOUTS_REQUEST,
        "address": Scope.PAYOUTS_REQUEST,
    }
    limits: ClassVar = {"create": CREATE, "list": READ, "retrieve": READ, "cancel": CHANGE, "address": CHANGE}
    recipient: Recipient | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Ask what the body's address is, beside what every view does first.

        That is before the transaction of an Idempotency-Key, for whose row other requests wait. Its answer is used in there. A repeat
        gets the answer that was kept, whatever the chain says now: it asks nobody.
        """
        super().initial(request, *args, **kwargs)
        principal = principal_of_request(request)
        if self.action not in {"create", "address"} or principal.has_answer(request):
            return
        address = json_body(request).get("address")
        if isinstance(address, str) and address:
            chain = self.chain_of(request, **kwargs)
            asker = f"merchant:{principal.merchant_id}"
            place = (chain, address.strip())
            self.recipient = ask_recipient(place, mode=principal.mode, asker=asker, now=timezone.now())

    def chain_of(self, request: Request, payout_id: str = "") -> str:
        """Return the chain of the address that a request gives; empty where it is not known."""
        chain, principal = json_body(request).get("chain"), principal_of_request(request)
        if chain or not payout_id:
            return str(chain or "")
        mine = Payout.objects.of(principal.merchant_id, principal.mode)
        known = mine.filter(public_id=payout_id.replace("\x00", "")).values_list("chain", flat=True).first()
        return known or ""

    def found(self, request: Request, payout_id: str) -> Payout:
        """Return the payout of a path. Raises NotFoundError."""
        principal = principal_of_request(request)
        return payout_named(principal.merchant_id, principal.mode, payout_id, kind=self.kind)

    def page(self, request: Request) -> Response:
        """Return the page that a query string asks for."""
        principal = principal_of_request(request)
        wanted, page = parse_filter(principal.merchant_id, principal.mode, request.query_params, kind=self.kind)
        data = payout_objects(payout_page(wanted, page), shows_claims=_shows_claims(principal))
        total = payouts_wanted(wanted).count() if page.include_total else None
        return Response(list_body(data, page, total))

    def shown(self, request: Request, payout: Payout, *, code: str = "", status: int = 200) -> Response:
        """Return a payout as it is now."""
        principal = principal_of_request(request)
        fresh = payout_named(principal.merchant_id, principal.mode, payout.public_id)
        [body] = payout_objects([fresh], shows_claims=_shows_claims(principal), code=code)
        return Response(body, status=status)

    def made(self, request: Request, asked: Requested) -> Response:
        """Return what was asked for: 201 if it is new."""
        return self.shown(request, asked.payout, code=asked.code, status=201 if asked.is_new else 200)

    def change_address(self, request: Request, payout_id: str) -> Response:
        """Give a payout the address of the body."""
        payout, values = self.found(request, payout_id), NewAddress.read(json_body(request))
        changed = set_address(
            payout, by=AddressBy.API, now=timezone.now(), actor=actor_of(request), recipient=self.recipient, **values
        )
        return self.shown(request, changed)

    def cancelled(self, request: Request, payout_id: str) -> Response:
        """Cancel a payout."""
        payout = self.found(request, payout_id)
        return self.shown(request, cancel_payout(payout, now=timezone.now(), actor=actor_of(request)))


class RefundViewSet(_PayoutsViewSet):
    """`/api/v1/refunds`."""

    kind = PayoutKind.REFUND

    def chain_of(self, request: Request, payout_id: str = "") -> str:
        """Return the chain of the address; that of the newest source of a new refund which names none."""
        known = super().chain_of(request, payout_id)
        if known or payout_id:
            return known
        principal = principal_of_request(request)
        # What is wrong with the body, the handler says.
        with suppress(GatewayError):
            source = NewRefund.read(json_body(request))["source"]
            return source_transfers(source, merchant_id=principal.merchant_id, mode=principal.mode)[0].chain
        return ""

    @extend_schema(
        operation_id="createRefund", tags=["Refunds and payouts"], request=NewRefund, responses={**_MADE, **errors(404)}
    )
    def create(self, request: Request) -> Response:
        """Create a refund.

        It reserves the amount: no other refund can promise it. People approve it and sign it with your own wallet. Without an
        `address` the recipient gives one at `claim_url`.

        With `requires_payer_proof` it goes only to an address that paid, and that signs a message there.

        400 `address_forbidden`: the address loses the money, as its chain says or as we know, or is yours.
        409 `amount_not_refundable`: less is left of the source, as `refundable` says. 409 `state_conflict`: the payment is not final,
        was reversed, or is being decided about. 409 `duplicate`: the reference names another amount, or a payout.
        """
        principal, values = principal_of_request(request), NewRefund.read(json_body(request))
        now = timezone.now()
        with transaction.atomic():
            asked = request_refund(
                Merchant.objects.get(pk=principal.merchant_id),
                mode=principal.mode,
                source=values.pop("source"),
                amount=values.pop("amount"),
                currency=values.pop("currency"),
                terms=_terms(principal, values, self.recipient),
                now=now,
                actor=actor_of(request),
            )
            _mail(asked, now)
        return self.made(request, asked)

    @extend_schema(
        operation_id="listRefunds",
        tags=["Refunds and payouts"],
        parameters=_FILTERS,
        responses={200: serializers.PayoutList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List refunds.

        Newest first.
        """
        return self.page(request)

    @extend_schema(
        operation_id="getRefund",
        tags=["Refunds and payouts"],
        responses={200: serializers.Payout, **errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, payout_id: str) -> Response:
        """Get a refund.

        It is `paid` once the chain has paid it for good; nobody can say so by hand.
        """
        return self.shown(request, self.found(request, payout_id))

    @extend_schema(
        operation_id="setRefundAddress", tags=["Refunds and payouts"], request=NewAddress, responses=_CHANGED
    )
    @action(detail=True, methods=["post"])
    def address(self, request: Request, payout_id: str) -> Response:
        """Set a refund's address.

        Until it is approved. A changed address needs new approvals.

        400 `address_forbidden`: the address loses the money, as its chain says or as we know, or is yours.

        409 `state_conflict`: it is approved, has ended, goes only to an address that paid and proves it, or a person of your team gave
        its address.
        """
        return self.change_address(request, payout_id)

    @extend_schema(operation_id="cancelRefund", tags=["Refunds and payouts"], request=None, responses=_CANCELLED)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, payout_id: str) -> Response:
        """Cancel a refund.

        Its money can be refunded again. A cancelled one is answered as it is. 409 `state_conflict`: it is being sent, or was paid.
        """
        return self.cancelled(request, payout_id)


class PayoutViewSet(_PayoutsViewSet):
    """`/api/v1/payouts`. Refunds are payouts: they are listed and read here, too."""

    @extend_schema(operation_id="createPayout", tags=["Refunds and payouts"], request=NewPayout, responses=_MADE)
    def create(self, request: Request) -> Response:
        """Create a payout.

        People approve it and sign it with your own wallet. Without an `address` the recipient gives one at `claim_url`.

        With `currency` the amount is converted at the rate of now, without a margin, and rounded up to a cent; `quote` says how.
        A repeat with the same `reference` gets the first, whatever the rate is then.

        400 `address_forbidden`: the address loses the money, as its chain says or as we know, or is yours.
        409 `duplicate`: the reference names another amount or currency, or a refund.
        """
        principal, values = principal_of_request(request), NewPayout.read(json_body(request))
        now = timezone.now()
        with transaction.atomic():
            asked = request_payout(
                Merchant.objects.get(pk=principal.merchant_id),
                mode=principal.mode,
                amount=values.pop("amount"),
                currency=values.pop("currency"),
                terms=_terms(principal, values, self.recipient),
                now=now,
                actor=actor_of(request),
            )
            _mail(asked, now)
        return self.made(request, asked)

    @extend_schema(
        operation_id="listPayouts",
        tags=["Refunds and payouts"],
        parameters=[OpenApiParameter("kind", str, enum=PayoutKind.values, description="Both, if absent."), *_FILTERS],
        responses={200: serializers.PayoutList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List payouts.

        Newest first, refunds among them.
        """
        return self.page(request)

    @extend_schema(
        operation_id="getPayout",
        tags=["Refunds and payouts"],
        responses={200: serializers.Payout, **errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, payout_id: str) -> Response:
        """Get a payout.

        It is `paid` once the chain has paid it for good; nobody can say so by hand.
        """
        return self.shown(request, self.found(request, payout_id))

    @extend_schema(
        operation_id="setPayoutAddress", tags=["Refunds and payouts"], request=NewAddress, responses=_CHANGED
    )
    @action(detail=True, methods=["post"])
    def address(self, request: Request, payout_id: str) -> Response:
        """Set a payout's address.

        Until it is approved. A changed address needs new approvals.

        400 `address_forbidden`: the address loses the money, as its chain says or as we know, or is yours.

        409 `state_conflict`: it is approved, has ended, or a person of your team gave its address.
        """
        return self.change_address(request, payout_id)

    @extend_schema(operation_id="cancelPayout", tags=["Refunds and payouts"], request=None, responses=_CANCELLED)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, payout_id: str) -> Response:
        """Cancel a payout.

        A cancelled one is answered as it is. 409 `state_conflict`: it is being sent, or was paid.
        """
        return self.cancelled(request, payout_id)


def _terms(principal: Principal, values: Mapping[str, Any], recipient: Recipient | None) -> Terms:
    """Return the terms of a body."""
    terms = dict(values)
    seconds = terms.pop("expires_in")
    if seconds is not None:
        terms["claim_for"] = timedelta(seconds=seconds)
    return Terms(key_id=principal.key_id, recipient=recipient, **terms)


def _mail(asked: Requested, now: datetime) -> None:
    """Mail the link of a new claim page to its recipient. Raises InvalidRequestError, RateLimitError, with nothing written."""
    if asked.is_new and asked.code:
        mail_claim(asked.payout, now=now)


def _shows_claims(principal: Principal) -> bool:
    """Return whether a key sees claim pages' addresses: one that may ask for payouts may say where they go."""
    return Scope.PAYOUTS_REQUEST in principal.scopes
