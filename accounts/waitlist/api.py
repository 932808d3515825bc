"""The waitlist API."""

from typing import ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import principal_of_request
from accounts.waitlist import schemas
from accounts.waitlist.forms import parse_interest
from accounts.waitlist.payloads import interest_payload
from accounts.waitlist.service import keep_interest
from gateway.core.api.rate_limits import Limit
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body

JOIN = Limit("waitlist.join", 10)


class WaitlistViewSet(ApiViewSet):
    """`/api/v1/waitlist`."""

    limits: ClassVar = {"fiat": JOIN}

    @extend_schema(
        operation_id="joinFiatWaitlist",
        tags=["Waitlist"],
        request=schemas.NewFiatInterest,
        responses={201: schemas.FiatInterest, 200: schemas.FiatInterest, **schemas.errors(400, 401, 413, 415, 429)},
    )
    @action(detail=False, methods=["post"])
    def fiat(self, request: Request) -> Response:
        """Join the waitlist for card payments.

        200: the e-mail address is on the list already, and the first entry stays.
        """
        principal = principal_of_request(request)
        interest = parse_interest(json_body(request))
        kept, is_new = keep_interest(principal.merchant_id, principal.mode, interest, now=timezone.now())
        return Response(interest_payload(kept), status=201 if is_new else 200)
