"""The waitlist API."""

from decimal import Decimal
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import principal_of_request
from accounts.models import COMPANY_LENGTH, COUNTRY_LENGTH, EMAIL_LENGTH
from accounts.waitlist.service import keep_interest
from gateway.core import json
from gateway.core.api.fields import refuse, text_of
from gateway.core.api.openapi import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.api.serializers import Answer, Body, LiveMode, Moment, Text, Usd
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from gateway.core.money import ENDLESS, parse_usd
from mails.addresses import writable

JOIN = Limit("waitlist.join", 10)


class Email(Text, s.EmailField):
    """An address that mail can be sent to; its host in lower case."""

    def to_internal_value(self, value: Any) -> str:
        """Return the address. Raises InvalidRequestError (parameter_invalid, parameter_too_long)."""
        text = super().to_internal_value(value)
        if text and not writable(text):
            raise refuse(self.name, f"{self.name} is not an e-mail address.")
        name, at, host = text.rpartition("@")
        # A few letters have more characters in lower case, such as the Turkish "İ".
        return text_of(f"{name}{at}{host.lower()}", self.name, self.max_length)


class MonthlyVolume(Usd):
    """USD a month, without the limits of a checkout's price."""

    def to_internal_value(self, value: Any) -> Decimal:
        """Return the amount. Raises InvalidRequestError (amount_not_string, amount_invalid, amount_out_of_range)."""
        name = self.name
        if json.number_text(value) is not None:
            raise refuse(name, f'{name} must be a string such as "50000".', "amount_not_string")
        amount = parse_usd(value) if isinstance(value, str) else None
        if amount is None:
            raise refuse(name, f'{name} must look like "50000" or "50000.00", digits only.', "amount_invalid")
        if amount >= ENDLESS:
            raise refuse(name, f"{name} must have at most 15 digits before the point.", "amount_out_of_range")
        return amount


class FiatInterest(Answer):
    """A place on the waitlist for card payments, as it was asked for first."""

    id = s.CharField(source="public_id", read_only=True)
    email = Email(trim_whitespace=True, max_length=EMAIL_LENGTH)
    company = Text(trim_whitespace=True, max_length=COMPANY_LENGTH, required=False, allow_null=True)
    country = Text(trim_whitespace=True, max_length=COUNTRY_LENGTH, required=False, allow_null=True)
    monthly_volume = MonthlyVolume(
        required=False, allow_null=True, body_help='USD a month as a string with at most two decimals, such as "50000".'
    )
    livemode = LiveMode()
    created_at = Moment()


class NewFiatInterest(Body, FiatInterest):
    """Body of `POST /waitlist/fiat`."""


class WaitlistViewSet(ApiViewSet):
    """`/api/v1/waitlist`."""

    # Any key may: it reads and changes nothing of the merchant's.
    scopes: ClassVar = {"fiat": None}
    limits: ClassVar = {"fiat": JOIN}

    @extend_schema(
        operation_id="joinFiatWaitlist",
        tags=["Waitlist"],
        request=NewFiatInterest,
        responses={201: FiatInterest, 200: FiatInterest, **errors(400, 401, 413, 415, 429)},
    )
    @action(detail=False, methods=["post"])
    def fiat(self, request: Request) -> Response:
        """Join the waitlist for card payments.

        200: the e-mail address is on the list already, and the first entry stays.
        """
        principal = principal_of_request(request)
        interest = NewFiatInterest.read(json_body(request))
        kept, is_new = keep_interest(principal.merchant_id, principal.mode, interest, now=timezone.now())
        return Response(FiatInterest.of(kept), status=201 if is_new else 200)
