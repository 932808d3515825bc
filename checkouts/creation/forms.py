"""Parser of creation requests, in one pass: this is the API's hottest path (docs/adr/0003).

Each reader of a field raises InvalidRequestError naming its parameter.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.creation.references import reference_of
from checkouts.inputs import NewCheckout, OptionChoice
from checkouts.states import TestScenario
from gateway.core import json
from gateway.core.api.fields import is_blank, missing, refuse, text_in
from gateway.core.money import format_usd, parse_usd
from gateway.core.outbound import MAX_URL_LENGTH, UrlPolicy, check_destination, check_url
from mails.addresses import writable

MAX_METADATA_BYTES = 4096
CURRENCY = "USD"

DEFAULT_EXPIRES_IN = 1800
MIN_EXPIRES_IN = 300
MAX_EXPIRES_IN = 86400
MAX_DESCRIPTION = 256


def amount_in(body: Mapping[str, Any], name: str = "amount") -> Decimal:
    """Read a price in USD: a string of ASCII digits with at most two decimals, within the limits of a checkout."""
    value = body.get(name)
    if value is None:
        raise missing(name)
    return amount_of(value, name)


def amount_of(value: Any, name: str) -> Decimal:
    """Read one such price; errors call it `name`."""
    if json.number_text(value) is not None:
        raise refuse(
            name,
            f'{name} must be a string such as "25.00"; a JSON number has lost precision already.',
            "amount_not_string",
        )
    amount = parse_usd(value) if isinstance(value, str) else None
    if amount is None:
        raise refuse(name, f'{name} must look like "25" or "25.00", digits only.', "amount_invalid")
    if not MIN_AMOUNT <= amount <= MAX_AMOUNT:
        low, high = format_usd(MIN_AMOUNT), format_usd(MAX_AMOUNT)
        raise refuse(name, f"{name} must be from {low} to {high}.", "amount_out_of_range")
    return amount


def currency_of(value: Any) -> str:
    """Read a currency; only USD is accepted."""
    if value != CURRENCY:
        raise refuse("currency", 'Only "USD" is supported.', "currency_unsupported")
    return CURRENCY


def metadata_text(value: Any) -> str:
    """Return metadata as compact JSON text, with keys in order and numbers as they were spelled."""
    if not isinstance(value, dict):
        raise refuse("metadata", "metadata must be a JSON object.")
    try:
        text = json.dumps(value)
    except json.NotJsonError as error:
        raise refuse("metadata", "metadata cannot be written as JSON.") from error
    if len(text) > MAX_METADATA_BYTES:
        raise refuse("metadata", f"metadata must be at most {MAX_METADATA_BYTES} bytes.", "metadata_too_large")
    return text.decode()


def escrow_in(body: Mapping[str, Any]) -> bool:
    """Read whether the money is held until a team member releases it; False if absent."""
    value = body.get("escrow")
    if value is None:
        return False
    if not isinstance(value, bool):
        raise refuse("escrow", "escrow must be true or false.")
    return value


def redirect_url_in(body: Mapping[str, Any], policy: UrlPolicy) -> str:
    """Read the address where the buyer is sent afterwards; "" if absent."""
    value = text_in(body, "redirect_url", MAX_URL_LENGTH)
    if value:
        check_url(value, param="redirect_url", policy=policy)
    return value


def webhook_url_in(body: Mapping[str, Any], policy: UrlPolicy) -> str:
    """Read the webhook address, with the sender's own checks; "" if absent."""
    value = text_in(body, "webhook_url", MAX_URL_LENGTH)
    if value:
        check_destination(value, param="webhook_url", policy=policy)
    return value


def parse_create(body: Mapping[str, Any], urls: UrlPolicy, *, is_test: bool = True) -> NewCheckout:
    """Read the body of `POST /checkouts`. Raises InvalidRequestError naming the parameter.

    A buyer's address that cannot be written to is left out; `notices_of` tells so. Live checkouts have no scenario.
    """
    metadata = body.get("metadata")
    if metadata is None:
        metadata = {}
    return NewCheckout(
        amount=amount_in(body),
        currency=_currency(body),
        description=text_in(body, "description", MAX_DESCRIPTION),
        metadata=metadata_text(metadata),
        customer_email=_email(body),
        redirect_url=redirect_url_in(body, urls),
        webhook_url=webhook_url_in(body, urls),
        expires_in=_expires_in(body),
        customer_ref=reference_of(body, metadata, "customer_ref"),
        product_ref=reference_of(body, metadata, "product_ref"),
        order_ref=reference_of(body, metadata, "order_ref"),
        test_scenario=_scenario(body) if is_test else TestScenario.COMPLETED,
        escrow=escrow_in(body),
    )


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
        return DEFAULT_EXPIRES_IN
    digits = json.number_text(value)
    if digits is None or not digits.removeprefix("-").isdigit():
        raise refuse("expires_in", "expires_in must be a whole number of seconds.")
    # An integer beyond machine range is out of range too.
    if not isinstance(value, int) or not MIN_EXPIRES_IN <= value <= MAX_EXPIRES_IN:
        raise refuse(
            "expires_in",
            f"expires_in must be from {MIN_EXPIRES_IN} to {MAX_EXPIRES_IN} seconds.",
            "expires_in_out_of_range",
        )
    return value


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
