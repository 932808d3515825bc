"""Reading a creation request by hand, in one pass: this is the API's hottest path (docs/adr/0003)."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from checkouts.inputs import NewCheckout, OptionChoice
from checkouts.pricing import MAX_AMOUNT, MIN_AMOUNT
from checkouts.references import MAX_LENGTH, reference_in, storable
from checkouts.states import TestScenario
from gateway.core import json
from gateway.core.errors import InvalidRequestError
from gateway.core.money import format_usd, parse_usd
from gateway.core.weburls import MAX_LENGTH as MAX_URL
from gateway.core.weburls import UrlPolicy, check_destination, check_url

DEFAULT_EXPIRES_IN = 1800
MIN_EXPIRES_IN = 300
MAX_EXPIRES_IN = 86400
MAX_DESCRIPTION = 256
MAX_METADATA_BYTES = 4096
CURRENCY = "USD"


def parse_create(body: Mapping[str, Any], urls: UrlPolicy) -> NewCheckout:
    """Read the body of `POST /checkouts`. Raises InvalidRequestError naming the parameter."""
    metadata = body.get("metadata")
    if metadata is None:
        metadata = {}
    return NewCheckout(
        amount=_amount(body),
        currency=_currency(body),
        description=_text(body, "description", MAX_DESCRIPTION),
        metadata=_metadata(metadata),
        customer_email=_email(body),
        redirect_url=_redirect_url(body, urls),
        webhook_url=_webhook_url(body, urls),
        expires_in=_expires_in(body),
        customer_ref=_reference(body, metadata, "customer_ref"),
        product_ref=_reference(body, metadata, "product_ref"),
        order_ref=_reference(body, metadata, "order_ref"),
        test_scenario=_scenario(body),
    )


def _refuse(
    param: str, message: str, code: str = "parameter_invalid"
) -> InvalidRequestError:
    return InvalidRequestError(message, param=param, code=code)


def _amount(body: Mapping[str, Any]) -> Decimal:
    value = body.get("amount")
    if value is None:
        raise _refuse("amount", "amount is required.", "parameter_missing")
    if json.number_text(value) is not None:
        raise _refuse(
            "amount",
            'amount must be a string such as "25.00"; a JSON number has lost precision already.',
            "amount_not_string",
        )
    amount = parse_usd(value) if isinstance(value, str) else None
    if amount is None:
        raise _refuse(
            "amount",
            'amount must look like "25" or "25.00", digits only.',
            "amount_invalid",
        )
    if not MIN_AMOUNT <= amount <= MAX_AMOUNT:
        low, high = format_usd(MIN_AMOUNT), format_usd(MAX_AMOUNT)
        raise _refuse(
            "amount", f"amount must be from {low} to {high}.", "amount_out_of_range"
        )
    return amount


def _currency(body: Mapping[str, Any]) -> str:
    value = body.get("currency")
    if value is None:
        raise _refuse("currency", "currency is required.", "parameter_missing")
    if value != CURRENCY:
        raise _refuse("currency", 'Only "USD" is supported.', "currency_unsupported")
    return CURRENCY


def _text(body: Mapping[str, Any], name: str, longest: int) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or not storable(value):
        raise _refuse(name, f"{name} must be a string.")
    if len(value) > longest:
        raise _refuse(
            name, f"{name} must be at most {longest} characters.", "parameter_too_long"
        )
    return value


def _metadata(value: Any) -> str:
    if not isinstance(value, dict):
        raise _refuse("metadata", "metadata must be a JSON object.")
    try:
        text = json.dumps(value)
    except json.NotJsonError as error:
        raise _refuse("metadata", "metadata cannot be written as JSON.") from error
    if len(text) > MAX_METADATA_BYTES:
        raise _refuse(
            "metadata",
            f"metadata must be at most {MAX_METADATA_BYTES} bytes.",
            "metadata_too_large",
        )
    return text.decode()


def _email(body: Mapping[str, Any]) -> str:
    value = _text(body, "customer_email", 254)
    if not value:
        return ""
    try:
        validate_email(value)
    except ValidationError as error:
        raise _refuse(
            "customer_email", "customer_email is not an e-mail address."
        ) from error
    return value


def _redirect_url(body: Mapping[str, Any], policy: UrlPolicy) -> str:
    value = _text(body, "redirect_url", MAX_URL)
    if value:
        check_url(value, param="redirect_url", policy=policy)
    return value


def _webhook_url(body: Mapping[str, Any], policy: UrlPolicy) -> str:
    """Refuse early what the sender would refuse anyway."""
    value = _text(body, "webhook_url", MAX_URL)
    if value:
        check_destination(value, param="webhook_url", policy=policy)
    return value


def _expires_in(body: Mapping[str, Any]) -> int:
    value = body.get("expires_in")
    if value is None:
        return DEFAULT_EXPIRES_IN
    digits = json.number_text(value)
    if digits is None or not digits.removeprefix("-").isdigit():
        raise _refuse("expires_in", "expires_in must be a whole number of seconds.")
    # An integer too long for the machine's own is out of range all the more.
    if not isinstance(value, int) or not MIN_EXPIRES_IN <= value <= MAX_EXPIRES_IN:
        raise _refuse(
            "expires_in",
            f"expires_in must be from {MIN_EXPIRES_IN} to {MAX_EXPIRES_IN} seconds.",
            "expires_in_out_of_range",
        )
    return value


def _reference(body: Mapping[str, Any], metadata: Mapping[str, Any], name: str) -> str:
    """A top-level reference wins over one in the metadata."""
    return _text(body, name, MAX_LENGTH) or reference_in(metadata, name)


def _scenario(body: Mapping[str, Any]) -> TestScenario:
    value = body.get("test_scenario")
    if value is None:
        return TestScenario.COMPLETED
    if value not in TestScenario.values:
        known = ", ".join(TestScenario.values)
        raise _refuse("test_scenario", f"test_scenario must be one of {known}.")
    return TestScenario(value)


def parse_choice(body: Mapping[str, Any]) -> OptionChoice:
    """Read the body of `POST /checkouts/{id}/options`. Raises InvalidRequestError."""
    for name in ("chain", "token"):
        if not body.get(name):
            raise _refuse(name, f"{name} is required.", "parameter_missing")
    return OptionChoice(chain=_text(body, "chain", 16), token=_text(body, "token", 12))
