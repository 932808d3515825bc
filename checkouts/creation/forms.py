"""Parser of creation requests, in one pass: this is the API's hottest path (docs/adr/0003)."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from checkouts.creation.fields import (
    amount_in,
    currency_of,
    escrow_in,
    metadata_text,
    redirect_url_in,
    webhook_url_in,
)
from checkouts.creation.references import (
    MAX_LENGTH,
    reference_in,
)
from checkouts.inputs import NewCheckout, OptionChoice
from checkouts.states import TestScenario
from gateway.core import json
from gateway.core.api.fields import (
    missing,
    refuse,
    text_in,
)
from gateway.core.web_urls import UrlPolicy

DEFAULT_EXPIRES_IN = 1800
MIN_EXPIRES_IN = 300
MAX_EXPIRES_IN = 86400
MAX_DESCRIPTION = 256


def parse_create(body: Mapping[str, Any], urls: UrlPolicy) -> NewCheckout:
    """Read the body of `POST /checkouts`. Raises InvalidRequestError naming the parameter."""
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
        customer_ref=_reference(body, metadata, "customer_ref"),
        product_ref=_reference(body, metadata, "product_ref"),
        order_ref=_reference(body, metadata, "order_ref"),
        test_scenario=_scenario(body),
        escrow=escrow_in(body),
    )


def _currency(body: Mapping[str, Any]) -> str:
    value = body.get("currency")
    if value is None:
        raise missing("currency")
    return currency_of(value)


def _email(body: Mapping[str, Any]) -> str:
    value = text_in(body, "customer_email", 254)
    if not value:
        return ""
    try:
        validate_email(value)
    except ValidationError as error:
        raise refuse(
            "customer_email", "customer_email is not an e-mail address."
        ) from error
    return value


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


def _reference(body: Mapping[str, Any], metadata: Mapping[str, Any], name: str) -> str:
    """Return a reference: the top-level one wins over the metadata's."""
    return text_in(body, name, MAX_LENGTH) or reference_in(metadata, name)


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
    return OptionChoice(
        chain=text_in(body, "chain", 16), token=text_in(body, "token", 12)
    )
