"""`GET /currencies`: what prices may be in, and at which rate they are converted now."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.core.api.openapi import errors, listed
from gateway.core.api.rate_limits import Limit
from gateway.core.api.serializers import Answer
from gateway.core.api.views import ApiViewSet
from gateway.core.currencies import USD, format_rate
from gateway.core.times import iso
from rates.selectors import SHOWN_SECONDS, Quotable, quotable_currencies


class RateSource(Answer):
    """What one source said."""

    name = s.CharField(help_text="`kraken`, `coinbase`, `fixed`, or the host of the operator's own server.")
    rate = s.CharField()
    taken_at = s.DateTimeField()


class PriceCurrency(Answer):
    """A currency that prices may be in."""

    currency = s.CharField(help_text="ISO 4217.")
    decimals = s.IntegerField(help_text="The decimals of its amounts: 2, or 0 as of JPY.")
    usd_rate = s.CharField(
        allow_null=True,
        help_text="USD for one unit, before the merchant's margin. Null while the sources are silent or do not agree:"
        " prices in it are refused then.",
    )
    taken_at = s.DateTimeField(allow_null=True, help_text="When the rate was so. Null for USD.")
    sources = RateSource(many=True, help_text="The source of the rate, then the one that confirms it. Empty for USD.")

    def get_usd_rate(self, one: Quotable) -> str | None:
        """Return the rate; one USD is one USD."""
        if one.currency == USD:
            return "1.000000"
        return format_rate(one.agreed.rate) if one.agreed else None

    def get_taken_at(self, one: Quotable) -> str | None:
        """Return the time of the rate."""
        return iso(one.agreed.taken_at) if one.agreed else None

    def get_sources(self, one: Quotable) -> list[dict[str, Any]]:
        """Return the readings that agree."""
        readings = one.agreed.evidence if one.agreed else ()
        return [{"name": r.source, "rate": format_rate(r.rate), "taken_at": iso(r.taken_at)} for r in readings]


CURRENCY_LIST = listed("CurrencyList", PriceCurrency)


class CurrencyViewSet(ApiViewSet):
    """`/api/v1/currencies`."""

    # The route needs no key, so requests count by client address and a wrong key has no effect.
    authentication_classes = ()
    key_required = False
    keyless_limit = Limit("currencies", 60)

    @extend_schema(
        operation_id="listCurrencies", tags=["Checkouts"], auth=[], responses={200: CURRENCY_LIST, **errors(429)}
    )
    def list(self, request: Request) -> Response:
        """List currencies of prices.

        USD, and those that this installation converts. No key is needed. An answer may be 30 seconds old.
        """
        body = {"data": [PriceCurrency.of(one) for one in quotable_currencies()]}
        # Not by caches between: the answer has headers about this client's requests.
        return Response(body, headers={"Cache-Control": f"private, max-age={SHOWN_SECONDS}"})
