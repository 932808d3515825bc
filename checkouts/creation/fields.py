"""Fields that several requests share. Each reader raises InvalidRequestError naming its parameter."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from checkouts.pricing import MAX_AMOUNT, MIN_AMOUNT
from gateway.core import json
from gateway.core.api.fields import missing, refuse, text_in
from gateway.core.money import format_usd, parse_usd
from gateway.core.web_urls import MAX_LENGTH as MAX_URL
from gateway.core.web_urls import UrlPolicy, check_destination, check_url

MAX_METADATA_BYTES = 4096
CURRENCY = "USD"


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
    value = text_in(body, "redirect_url", MAX_URL)
    if value:
        check_url(value, param="redirect_url", policy=policy)
    return value


def webhook_url_in(body: Mapping[str, Any], policy: UrlPolicy) -> str:
    """Read the webhook address, with the sender's own checks; "" if absent."""
    value = text_in(body, "webhook_url", MAX_URL)
    if value:
        check_destination(value, param="webhook_url", policy=policy)
    return value
