"""The waitlist API."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import models
from accounts.keys.authentication import principal_of_request
from accounts.models import COMPANY_LENGTH, COUNTRY_LENGTH, EMAIL_LENGTH
from accounts.states import Mode
from accounts.waitlist.service import Interest, keep_interest
from gateway.core import json
from gateway.core.api.fields import missing, refuse, text_in
from gateway.core.api.openapi import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from gateway.core.money import ENDLESS, format_usd, parse_usd
from gateway.core.times import iso
from mails.addresses import writable

Body = Mapping[str, Any]

JOIN = Limit("waitlist.join", 10)


class NewFiatInterest(s.Serializer[None]):
    """Body of `POST /waitlist/fiat`."""

    email = s.EmailField(max_length=EMAIL_LENGTH)
    company = s.CharField(required=False, allow_null=True, max_length=COMPANY_LENGTH)
    country = s.CharField(required=False, allow_null=True, max_length=COUNTRY_LENGTH)
    monthly_volume = s.CharField(
        required=False, allow_null=True, help_text='USD a month as a string with at most two decimals, such as "50000".'
    )


class FiatInterest(s.Serializer[None]):
    """A place on the waitlist for card payments, as it was asked for first."""

    id = s.CharField()
    email = s.EmailField()
    company = s.CharField(allow_null=True)
    country = s.CharField(allow_null=True)
    monthly_volume = s.CharField(allow_null=True)
    livemode = s.BooleanField()
    created_at = s.DateTimeField()


def interest_payload(interest: models.FiatInterest) -> dict[str, Any]:
    """Return the API object of a waitlist entry."""
    volume = interest.monthly_volume
    return {
        "id": interest.public_id,
        "email": interest.email,
        "company": interest.company or None,
        "country": interest.country or None,
        "monthly_volume": None if volume is None else format_usd(volume),
        "livemode": interest.mode == Mode.LIVE,
        "created_at": iso(interest.created_at),
    }


def parse_interest(body: Body) -> Interest:
    """Read the body of `POST /waitlist/fiat`. Raises InvalidRequestError naming the parameter."""
    return Interest(
        email=_email(body),
        company=text_in(body, "company", COMPANY_LENGTH).strip(),
        country=text_in(body, "country", COUNTRY_LENGTH).strip(),
        monthly_volume=_monthly_volume(body),
    )


def _email(body: Body) -> str:
    value = text_in(body, "email", EMAIL_LENGTH).strip()
    if not value:
        raise missing("email")
    if not writable(value):
        raise refuse("email", "email is not an e-mail address.")
    name, _, host = value.rpartition("@")
    # A few letters have more characters in lower case, such as the Turkish "İ".
    return text_in({"email": f"{name}@{host.lower()}"}, "email", EMAIL_LENGTH)


def _monthly_volume(body: Body) -> Decimal | None:
    """Parse USD a month, without the limits of a checkout's price."""
    value = body.get("monthly_volume")
    if value is None:
        return None
    if json.number_text(value) is not None:
        raise refuse("monthly_volume", 'monthly_volume must be a string such as "50000".', "amount_not_string")
    amount = parse_usd(value) if isinstance(value, str) else None
    if amount is None:
        raise refuse(
            "monthly_volume", 'monthly_volume must look like "50000" or "50000.00", digits only.', "amount_invalid"
        )
    if amount >= ENDLESS:
        raise refuse(
            "monthly_volume", "monthly_volume must have at most 15 digits before the point.", "amount_out_of_range"
        )
    return amount


class WaitlistViewSet(ApiViewSet):
    """`/api/v1/waitlist`."""

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
        interest = parse_interest(json_body(request))
        kept, is_new = keep_interest(principal.merchant_id, principal.mode, interest, now=timezone.now())
        return Response(interest_payload(kept), status=201 if is_new else 200)
