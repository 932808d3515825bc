"""Parser of creation requests, in one pass: this is the API's hottest path (docs/adr/0003).

Each reader of a field raises InvalidRequestError naming its parameter.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings

from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.creation.references import reference_of
from checkouts.inputs import NewCheckout, OptionChoice
from checkouts.states import TestScenario
from gateway.core import json
from gateway.core.api.fields import flag_of, is_blank, metadata_of, missing, price_of, refuse, text_in, url_of, usd_of
from gateway.core.currencies import USD
from gateway.core.outbound import UrlPolicy, check_destination, check_url
from mails.addresses import writable
from rates.selectors import is_priced, price_currencies

CURRENCY = USD

DEFAULT_EXPIRES_IN = 1800
MIN_EXPIRES_IN = 300
MAX_EXPIRES_IN = 86400
MAX_DESCRIPTION = 256


def currency_of(value: Any) -> str:
    """Read a currency: USD, or one that the operator lets prices be in. Raises InvalidRequestError (currency_unsupported)."""
    if value == CURRENCY:
        return CURRENCY
    if is_priced(value):
        return str(value)
    if others := price_currencies():
        raise refuse("currency", f"currency must be one of {', '.join((CURRENCY, *others))}.", "currency_unsupported")
    raise refuse("currency", 'Only "USD" is supported.', "currency_unsupported")


def parse_create(body: Mapping[str, Any], urls: UrlPolicy, *, is_test: bool = True) -> NewCheckout:
    """Read the body of `POST /checkouts`. Raises InvalidRequestError naming the parameter.

    A buyer's address that cannot be written to is left out; `notices_of` tells so. Live checkouts have no scenario.
    """
    metadata = body.get("metadata")
    if metadata is None:
        metadata = {}
    return NewCheckout(
        amount=_amount(body),
        currency=_currency(body),
        description=text_in(body, "description", MAX_DESCRIPTION),
        metadata=metadata_of(metadata),
        customer_email=_email(body),
        redirect_url=url_of(body.get("redirect_url"), "redirect_url", check_url, urls),
        webhook_url=url_of(body.get("webhook_url"), "webhook_url", check_destination, urls),
        expires_in=_expires_in(body),
        customer_ref=reference_of(body, metadata, "customer_ref"),
        product_ref=reference_of(body, metadata, "product_ref"),
        order_ref=reference_of(body, metadata, "order_ref"),
        test_scenario=_scenario(body) if is_test else TestScenario.COMPLETED,
        escrow=flag_of(body.get("escrow"), "escrow"),
    )


def _amount(body: Mapping[str, Any]) -> Decimal:
    value, currency = body.get("amount"), body.get("currency")
    if value is None:
        raise missing("amount")
    if currency != CURRENCY and is_priced(currency):
        # Its worth in USD is limited once it is known.
        return price_of(value, "amount", str(currency))
    return usd_of(value, "amount", MIN_AMOUNT, MAX_AMOUNT)


def _currency(body: Mapping[str, Any]) -> str:
    value = body.get("currency")
    if value is None:
        raise missing("currency")
    return currency_of(value)


def notices_of(body: Mapping[str, Any], wanted: NewCheckout) -> list[dict[str, str]]:
    """Return the notices of fields that were left out of the checkout: an unusable one refuses no payment."""
    if is_blank(body.get("customer_email") or "") or wanted.customer_email:
        return []
    return [
        {
            "param": "customer_email",
            "code": "email_unusable",
            "message": "customer_email cannot be written to, and was left out.",
        }
    ]


def _email(body: Mapping[str, Any]) -> str:
    value = body.get("customer_email")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refuse("customer_email", "customer_email must be a string.")
    return writable(value)


def _expires_in(body: Mapping[str, Any]) -> int:
    value = body.get("expires_in")
    if value is None:
        return default_expiry(str(body.get("currency")))
    longest = longest_expiry(str(body.get("currency")))
    digits = json.number_text(value)
    if digits is None or not digits.removeprefix("-").isdigit():
        raise refuse("expires_in", "expires_in must be a whole number of seconds.")
    # An integer beyond machine range is out of range too.
    if not isinstance(value, int) or not MIN_EXPIRES_IN <= value <= longest:
        raise refuse(
            "expires_in", f"expires_in must be from {MIN_EXPIRES_IN} to {longest} seconds.", "expires_in_out_of_range"
        )
    return value


def longest_expiry(currency: str) -> int:
    """Return the most seconds that a checkout may last: less where a rate is held for it."""
    return MAX_EXPIRES_IN if currency == CURRENCY else min(MAX_EXPIRES_IN, settings.RATE_HOLD_SECONDS)


def default_expiry(currency: str) -> int:
    """Return the seconds that a checkout lasts unless its merchant says otherwise."""
    return min(DEFAULT_EXPIRES_IN, longest_expiry(currency))


def _scenario(body: Mapping[str, Any]) -> TestScenario:
    value = body.get("test_scenario")
    if value is None:
        return TestScenario.COMPLETED
    if value not in TestScenario.values:
        known = ", ".join(TestScenario.values)
        raise refuse("test_scenario", f"test_scenario must be one of {known}.")
    return TestScenario(value)


def parse_choice(body: Mapping[str, Any]) -> OptionChoice:
    """Read the body of `POST /checkouts/{id}/options`. Raises InvalidRequestError."""
    for name in ("chain", "token"):
        if not body.get(name):
            raise missing(name)
    return OptionChoice(chain=text_in(body, "chain", 16), token=text_in(body, "token", 12))
