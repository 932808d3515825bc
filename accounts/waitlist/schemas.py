"""The waitlist's shapes for the OpenAPI description. Never used to read or write a request (docs/adr/0003)."""

from rest_framework import serializers as s

from accounts.models import COMPANY_LENGTH, COUNTRY_LENGTH, EMAIL_LENGTH
from gateway.core.api.openapi import errors

__all__ = ["FiatInterest", "NewFiatInterest", "errors"]


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
