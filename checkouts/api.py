"""Views of the checkout API. The rules are in `checkouts.creation` and `checkouts.lifecycle`."""

from typing import ClassVar

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.brand.facts import with_brand
from accounts.keys.authentication import principal_of_request
from accounts.states import Mode
from checkouts import schemas
from checkouts.creation.forms import notices_of, parse_choice, parse_create
from checkouts.creation.references import METADATA_KEYS
from checkouts.creation.service import create_checkout
from checkouts.gas_free.rules import takes_free
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.lifecycle.escrow import release_escrow
from checkouts.lifecycle.signed_receipts import MEDIA_TYPE, signed_receipt
from checkouts.models import Checkout
from checkouts.options import available_chains, check_choice, chosen_option
from checkouts.page.transactions import parse_signed, prepare_transaction, send_signed
from checkouts.reservations import choose_exact_amount
from checkouts.selectors import (
    checkout_object,
    checkout_page,
    checkout_row,
    checkout_total,
    parse_filter,
    reserved_amount,
)
from checkouts.serializers import Advance
from checkouts.testmode import advance
from gateway.core.api.pagination import list_body
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from gateway.core.outbound import url_policy
from gateway.core.postgres.replica import reads_replica

CREATE = Limit("checkouts.create", 60)
READ = Limit("checkouts.read", 120)
LIST = Limit("checkouts.list", 30)
CHOOSE = Limit("checkouts.options", 60)
CANCEL = Limit("checkouts.cancel", 60)
RELEASE = Limit("checkouts.release", 60)
RECEIPT = Limit("checkouts.receipt", 60)
AUTHORIZE = Limit("checkouts.authorization", 60)
ADVANCE = Limit("checkouts.advance", 60)


class CheckoutViewSet(ApiViewSet):
    """`/api/v1/checkouts`."""

    lookup_url_kwarg = "checkout_id"
    scopes: ClassVar = {
        "create": Scope.CHECKOUTS_WRITE,
        "list": Scope.CHECKOUTS_READ,
        "retrieve": Scope.CHECKOUTS_READ,
        "receipt": Scope.CHECKOUTS_READ,
        "cancel": Scope.CHECKOUTS_WRITE,
        "release": Scope.ESCROW_RELEASE,
        "choose": Scope.CHECKOUTS_WRITE,
        "authorization": Scope.CHECKOUTS_WRITE,
    }
    limits: ClassVar = {
        "create": CREATE,
        "list": LIST,
        "retrieve": READ,
        "receipt": RECEIPT,
        "cancel": CANCEL,
        "release": RELEASE,
        "choose": CHOOSE,
        "authorization": AUTHORIZE,
    }
    # Its ticket lets a repeat send nothing more.
    asking: ClassVar = ("authorization",)

    @extend_schema(
        operation_id="createCheckout",
        tags=["Checkouts"],
        request=schemas.NewCheckout,
        responses={
            201: schemas.CreatedCheckout,
            200: OpenApiResponse(
                schemas.CreatedCheckout,
                description="The checkout that the same order_ref, amount and currency made earlier.",
            ),
            **schemas.errors(400, 401, 409, 413, 415, 429, 503),
        },
    )
    def create(self, request: Request) -> Response:
        """Create a checkout.

        The answer has the address of the hosted page, `checkout_url`, and the chains that the buyer can pay on. Equal `order_ref`,
        amount and currency make one checkout: a repeat answers 200 with the first. 409 `state_conflict`: the merchant account
        is closed. 503 `rate_unavailable`: a price that is not in USD cannot be converted now; nothing was created.
        """
        principal, sent = principal_of_request(request), json_body(request)
        is_test = principal.mode == Mode.TEST
        wanted = parse_create(sent, url_policy(), is_test=is_test)
        now = timezone.now()
        created = create_checkout(principal.merchant_id, principal.mode, wanted, now=now)
        body = checkout_object(created.row)
        # Creation reserves nothing, but a repeated request may find an exact amount reserved since the first.
        reserved = None if created.is_new else reserved_amount(created.row, now=now)
        body["available_chains"] = available_chains(
            created.row, reserved=reserved, now=now, takes_free=takes_free(principal.merchant_id)
        )
        body["notices"] = notices_of(sent, wanted)
        return Response(body, status=201 if created.is_new else 200)

    @extend_schema(
        operation_id="listCheckouts",
        tags=["Checkouts"],
        parameters=[
            OpenApiParameter("status", str, enum=schemas.STATUSES),
            *schemas.PAGE_PARAMETERS,
            OpenApiParameter("created_after", str, description="ISO 8601; only later ones."),
            OpenApiParameter("created_before", str, description="ISO 8601; only earlier ones."),
            *(OpenApiParameter(name, str, description="Only those with this one.") for name in METADATA_KEYS),
        ],
        responses={200: schemas.CheckoutList, **schemas.errors(400, 401, 429)},
    )
    @reads_replica
    def list(self, request: Request) -> Response:
        """List checkouts.

        Newest first.
        """
        principal = principal_of_request(request)
        wanted, page = parse_filter(principal.merchant_id, principal.mode, request.query_params)
        total = checkout_total(wanted) if page.include_total else None
        return Response(list_body(checkout_page(wanted, page), page, total))

    @extend_schema(
        operation_id="getCheckout",
        tags=["Checkouts"],
        responses={200: schemas.Checkout, **schemas.errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, checkout_id: str) -> Response:
        """Get a checkout.

        Poll it only as a fallback: a webhook reports each outcome.
        """
        principal = principal_of_request(request)
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        return Response(checkout_object(row))

    @extend_schema(
        operation_id="getReceipt",
        tags=["Checkouts"],
        responses={(200, MEDIA_TYPE): OpenApiTypes.STR, **schemas.errors(401, 404, 409, 429)},
    )
    @action(detail=True)
    def receipt(self, request: Request, checkout_id: str) -> HttpResponse:
        """Get a signed receipt.

        A compact JWS that anybody can check with the keys of `/.well-known/jwks.json`. The same checkout gets the same bytes, until a
        refund or a reorg changes what they say. It is evidence: deliver on the webhook.

        409 `state_conflict`: the checkout is not completed, its payment was reversed or is in doubt, or this installation has no key.
        """
        principal = principal_of_request(request)
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        checkout = with_brand(Checkout.objects.all()).get(pk=row.id)
        return HttpResponse(signed_receipt(checkout, now=timezone.now()), content_type=MEDIA_TYPE)

    @extend_schema(
        operation_id="cancelCheckout",
        tags=["Checkouts"],
        request=None,
        responses={200: schemas.Checkout, **schemas.errors(401, 404, 409, 429)},
    )
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, checkout_id: str) -> Response:
        """Cancel an unpaid checkout.

        Its status becomes `expired`, with `cancelled: true`, and `checkout.expired` is sent. Money that arrives later waits in
        your inbox. A repeat answers the same. 409 `state_conflict`: money was seen for it, or it has ended.
        """
        principal = principal_of_request(request)
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        cancel_checkout(row.id, actor=actor_of(request), now=timezone.now())
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        return Response(checkout_object(row))

    @extend_schema(
        operation_id="releaseCheckout",
        tags=["Checkouts"],
        request=None,
        responses={200: schemas.Checkout, **schemas.errors(401, 404, 409, 429)},
    )
    @action(detail=True, methods=["post"])
    def release(self, request: Request, checkout_id: str) -> Response:
        """Release escrow.

        The next sweep takes the money to your wallet. A release cannot be undone; a repeat answers the same.

        409 `state_conflict`: the checkout is not completed or expired yet, or was created without escrow.
        """
        principal = principal_of_request(request)
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        release_escrow(row, actor=actor_of(request), now=timezone.now())
        return Response(checkout_object(row))

    @extend_schema(
        operation_id="chooseOption",
        tags=["Checkouts"],
        request=schemas.OptionChoice,
        responses={200: schemas.ChainOption, **schemas.errors(400, 401, 404, 409, 413, 415, 429)},
    )
    # Not named like its path, because DRF uses the name `options`.
    @action(detail=True, methods=["post"], url_path="options")
    def choose(self, request: Request, checkout_id: str) -> Response:
        """Choose a chain and token.

        The answer has the address and the amount to pay. A repeat answers the same.

        On a chain with `exactAmountRequired` this reserves the amount that identifies the checkout: the price and some digits
        below a cent, the same on all such chains. An underpaid checkout gets a fresh amount for what is missing. 409
        `capacity_exhausted`: all 9,999 amounts of this price are in use; offer another chain.
        """
        principal = principal_of_request(request)
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        choice = parse_choice(json_body(request))
        now = timezone.now()
        needs_amount = check_choice(row, choice, now=now)
        reserved = choose_exact_amount(row.id, now=now) if needs_amount else None
        is_free = takes_free(principal.merchant_id)
        return Response(chosen_option(row, choice, reserved=reserved, takes_free=is_free))

    @extend_schema(
        operation_id="authorizePayment",
        tags=["Checkouts"],
        request=schemas.PaymentAuthorization,
        responses={200: schemas.AuthorizedPayment, **schemas.errors(400, 401, 404, 409, 413, 415, 429)},
    )
    @action(detail=True, methods=["post"])
    def authorization(self, request: Request, checkout_id: str) -> Response:
        """Pay without a network fee.

        For your own payment page, where an option says `gasFree`. Send `{chain, account}`: the answer is what the payer's wallet
        signs, and a ticket. Send `{ticket, signature}`: Florin sends the transfer to the checkout's own address, and pays the network.
        A repeat answers the same transaction. The checkout is paid as by any transfer, once the network shows it.

        409 `gas_free_unavailable`: let the payer send the option's payment. `payment_pending`: one is on its way; wait for the
        checkout. `funds_insufficient`: the account holds less. With test keys nothing is sent, and the scenario goes on.
        """
        principal, sent = principal_of_request(request), json_body(request)
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        checkout = Checkout.objects.select_related("merchant").get(pk=row.id)
        now = timezone.now()
        if "ticket" in sent or "signature" in sent:
            return Response(send_signed(checkout, parse_signed(sent), now=now))
        return Response(prepare_transaction(checkout, {**sent, "free": True}, now=now))


class TestClockViewSet(ApiViewSet):
    """`/api/v1/test/checkouts`: the clocks of test checkouts. A live key finds nothing here."""

    lookup_url_kwarg = "checkout_id"
    scopes: ClassVar = {"advance": Scope.CHECKOUTS_WRITE}
    limits: ClassVar = {"advance": ADVANCE}

    @extend_schema(
        operation_id="advanceTestCheckout",
        tags=["Checkouts"],
        request=Advance,
        responses={200: schemas.Checkout, **schemas.errors(400, 401, 404, 409, 413, 415, 429)},
    )
    @action(detail=True, methods=["post"])
    def advance(self, request: Request, checkout_id: str) -> Response:
        """Advance a test checkout.

        Plays the next step of its `test_scenario` now, or the next `steps`, and answers the checkout that follows. Webhooks are sent
        as always. From the first call on the checkout's own clock stands still, so that only further calls change it until its time
        to pay ends. After the last step, one more ends the time to pay: an unpaid checkout expires. Test keys only: a live key gets
        404. 409 `state_conflict`: the checkout has ended, and no step is left.
        """
        principal = principal_of_request(request)
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        advance(row, Advance.read(json_body(request))["steps"], now=timezone.now())
        row = checkout_row(principal.merchant_id, principal.mode, checkout_id)
        return Response(checkout_object(row))
