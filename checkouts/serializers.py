"""Fields of checkouts that other resources' serializers have too, and bodies about checkouts."""

from collections.abc import Mapping
from typing import Any, Final

from rest_framework import serializers as s

from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.creation.forms import CURRENCY, currency_of
from checkouts.creation.references import MAX_LENGTH, reference_of
from gateway.core.api.serializers import ApiField, Body, Count, Text, Usd
from rates.selectors import price_currencies

MOST_STEPS: Final = 10
"""Steps of a test checkout that one request may play: more than any scenario has."""


class Price(Usd):
    """A price in USD, within the limits of a checkout."""

    low = MIN_AMOUNT
    high = MAX_AMOUNT


class Currency(ApiField, s.ChoiceField):
    """A currency: USD, or one that the operator lets prices be in."""

    absent = CURRENCY

    def __init__(self, **kwargs: Any) -> None:
        super().__init__([CURRENCY, *price_currencies()], **kwargs)

    def in_answers(self) -> s.CharField:
        """Return a text: a client must not break when there is a second currency."""
        return s.CharField()

    def to_internal_value(self, value: Any) -> str:
        """Return the currency. Raises InvalidRequestError (currency_unsupported)."""
        return currency_of(value)


class Reference(Text):
    """One of the merchant's references, from the body or from its metadata."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, allow_null=True, max_length=MAX_LENGTH, **kwargs)

    def read(self, body: Mapping[str, Any]) -> str:
        """Return the reference; "" for none. Raises InvalidRequestError."""
        return reference_of(body, body.get("metadata"), self.name)


class Advance(Body):
    """Body of `POST /test/checkouts/{id}/advance`."""

    steps = Count(
        required=False,
        allow_null=True,
        absent=1,
        low=1,
        high=MOST_STEPS,
        body_help="How many steps to play; 1 if absent. If the scenario has fewer, all of them.",
    )
