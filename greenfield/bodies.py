"""Reads what plugins send: numbers as strings and as JSON numbers, nulls everywhere, lists of PHP where an object is meant.

Each reader raises InvalidRequestError naming the parameter.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final
from urllib.parse import quote

from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.creation.forms import CURRENCY, MAX_DESCRIPTION, MIN_EXPIRES_IN, default_expiry, longest_expiry
from checkouts.creation.references import reference_in
from checkouts.inputs import NewCheckout
from checkouts.states import TestScenario
from gateway.core import json
from gateway.core.api.fields import metadata_of, missing, refuse, storable, text_of, url_of, usd_within
from gateway.core.currencies import has_its_decimals
from gateway.core.money import CENT
from gateway.core.outbound import MAX_URL_LENGTH, check_destination, check_url, url_policy
from greenfield.methods import MOST, pairs_of
from mails.addresses import writable
from rates.selectors import price_currencies

INVOICE_MARK: Final = "{InvoiceId}"
"""What stands for the invoice's id in a redirect URL; Magento's plugin sends it."""

_ORDER_MARK: Final = "{OrderId}"
# Only Magento's plugin sends this. It notes an invoice for each request, and takes a status that it notes twice for one that did
# not change: an order whose invoice it got twice would never be paid.
_MAGENTO: Final = "magentoOrderId"
SHOPWARES_MARK: Final = "transactionId"
"""What Shopware's plugin calls a try of the buyer to pay an order. Another way to pay is another one, and ends the one before."""

_NUMBER: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,40})?", re.ASCII)
# PHP computes with binary fractions: what is this close to a cent is that cent.
_NEAR: Final = Decimal("0.000001")
# Longer than a checkout's id, in place of which it is checked.
_ID_LENGTH: Final = 40
_EVENT: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,59}", re.ASCII)
_MOST_EVENTS: Final = 40
_SECRET_LENGTH: Final = 255
_MINUTE: Final = 60
_LATEST: Final = 253_402_300_799
# What is repeated of the `checkout` object that a shop sent, and the types of its values.
_OPTIONS: Final[Mapping[str, type[Any]]] = {
    "speedPolicy": str,
    "paymentMethods": list,
    "defaultPaymentMethod": str,
    "expirationMinutes": int,
    "monitoringMinutes": int,
    "paymentTolerance": int,
    "redirectURL": str,
    "redirectAutomatically": bool,
    "requiresRefundEmail": bool,
    "defaultLanguage": str,
}


@dataclass(frozen=True, slots=True)
class NewInvoice:
    """An invoice to make: the checkout, and the options to say again."""

    checkout: NewCheckout
    sent: dict[str, Any]


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook as it shall be. `types` are BTCPay Server's; None stands for everything. Without a `secret` one is made, or stays."""

    url: str
    types: list[str] | None
    is_enabled: bool
    secret: str


def read_invoice(body: Mapping[str, Any]) -> NewInvoice:
    """Read the body of `POST /stores/{id}/invoices`."""
    metadata, options = object_in(body, "metadata"), object_in(body, "checkout")
    order = reference_in({"order_id": metadata.get("orderId")}, "order_ref")
    amount = read_amount(body, "amount")
    if amount is None:
        raise missing("amount")
    currency = read_currency(body, "currency")
    checkout = NewCheckout(
        amount=price_within(amount, currency),
        currency=currency,
        description=_line(metadata.get("itemDesc"), MAX_DESCRIPTION),
        metadata=metadata_of(metadata),
        customer_email=_email(metadata.get("buyerEmail")),
        redirect_url=_redirect(options.get("redirectURL"), order),
        webhook_url="",
        expires_in=_seconds(options.get("expirationMinutes"), currency),
        customer_ref="",
        product_ref="",
        order_ref=order,
        test_scenario=TestScenario.COMPLETED,
        is_repeatable=_MAGENTO not in metadata,
        pairs=pairs_of(options.get("paymentMethods")),
        id_mark=INVOICE_MARK,
    )
    return NewInvoice(checkout, _sent(options))


def read_webhook(body: Mapping[str, Any]) -> NewWebhook:
    """Read the body of `POST` and `PUT` of webhooks: a URL alone is enough, as Shopware's plugin sends it."""
    url = url_of(body.get("url"), "url", check_destination, url_policy())
    if not url:
        raise missing("url")
    secret = text_of(body.get("secret"), "secret", _SECRET_LENGTH)
    enabled = body.get("enabled")
    if enabled is not None and not isinstance(enabled, bool):
        raise refuse("enabled", "enabled must be true or false.")
    return NewWebhook(url, _types(object_in(body, "authorizedEvents")), enabled is not False, secret)


def read_amount(body: Mapping[str, Any], name: str) -> Decimal | None:
    """Read an amount of money, to a cent; None where it is absent. A string must be exact, a JSON number may be a binary fraction."""
    value = body.get(name)
    if value is None or value == "":
        return None
    spelled = json.number_text(value)
    text = value if spelled is None else spelled
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        raise refuse(name, f'{name} must look like "25" or "25.00".')
    amount = Decimal(text)
    cents = amount.quantize(CENT, rounding=ROUND_HALF_UP)
    if abs(amount - cents) > (Decimal(0) if spelled is None else _NEAR):
        raise refuse(name, f"{name} must have at most two decimals.")
    return cents


def read_currency(body: Mapping[str, Any], name: str, *others: str) -> str:
    """Read a currency: USD, which stands for an absent one too, one that prices may be in, or one of some `others`."""
    value = body.get(name)
    if value is None or value == "":
        return CURRENCY
    known = list(dict.fromkeys((CURRENCY, *price_currencies(), *others)))
    if not isinstance(value, str) or value.upper() not in known:
        raise refuse(name, f"{name} must be {' or '.join(known)}: this installation takes prices in no other currency.")
    return value.upper()


def price_within(amount: Decimal, currency: str) -> Decimal:
    """Return the price of an invoice if it is one: in USD within a checkout's limits, else more than zero, as its worth is known later."""
    if currency == CURRENCY:
        return usd_within(amount, "amount", MIN_AMOUNT, MAX_AMOUNT)
    if not amount or not has_its_decimals(amount, currency):
        raise refuse("amount", f"amount must be more than zero, with no more decimals than {currency} has.")
    return amount


def read_moment(body: Mapping[str, Any], name: str) -> datetime | None:
    """Read a Unix time; None where it is absent."""
    value = body.get(name)
    text = json.number_text(value) or (value if isinstance(value, str) else "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_LATEST)) or int(text) > _LATEST:
        raise refuse(name, f"{name} must be a Unix time in seconds.")
    return datetime.fromtimestamp(int(text), UTC)


def read_line(body: Mapping[str, Any], name: str, longest: int) -> str:
    """Read a text for people, cut to one line of `longest` characters; "" where it is absent."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise refuse(name, f"{name} must be a string.")
    return _line(value, longest)


def object_in(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object; an empty one for null, and for the empty list that PHP writes for it."""
    value = body.get(name)
    if value is None or value == []:
        return {}
    if not isinstance(value, dict):
        raise refuse(name, f"{name} must be an object.")
    return value


def _line(value: Any, longest: int) -> str:
    if not isinstance(value, str) or not storable(value):
        return ""
    return " ".join("".join(char if char.isprintable() else " " for char in value).split())[:longest]


def _email(value: Any) -> str:
    return writable(value) if isinstance(value, str) else ""


def _redirect(value: Any, order: str) -> str:
    """Return where buyers go after payment. It still has the mark of the invoice's id, which is not known yet."""
    if not isinstance(value, str):
        return url_of(value, "redirect_url", check_url, url_policy())
    url = value.replace(_ORDER_MARK, quote(order, safe=""))
    url_of(url.replace(INVOICE_MARK, "x" * _ID_LENGTH), "redirect_url", check_url, url_policy())
    return url


def _seconds(minutes: Any, currency: str) -> int:
    """Return how long a checkout lasts: a shop's setting is moved into our range, because no plugin shows a refusal of it."""
    text = json.number_text(minutes) or (minutes if isinstance(minutes, str) else "")
    if not text.isascii() or not text.isdigit():
        return default_expiry(currency)
    # A longer number would take long to convert, and is out of range too.
    asked = int(text[:9]) * _MINUTE
    return min(max(asked, MIN_EXPIRES_IN), longest_expiry(currency))


def _sent(options: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: options.get(name) for name in _OPTIONS}
    return {name: value for name, value in found.items() if _is_repeated(name, value)}


def _is_repeated(name: str, value: Any) -> bool:
    if type(value) is not _OPTIONS[name]:
        return False
    if isinstance(value, list):
        return 0 < len(value) <= MOST and all(isinstance(one, str) and _is_text(one) for one in value)
    return _is_text(value) if isinstance(value, str) else True


def _is_text(value: str) -> bool:
    return len(value) <= MAX_URL_LENGTH and storable(value)


def _types(authorized: Mapping[str, Any]) -> list[str] | None:
    specific = authorized.get("specificEvents")
    if authorized.get("everything") is True or specific is None:
        return None
    if not isinstance(specific, list) or len(specific) > _MOST_EVENTS:
        raise refuse("events", f"specificEvents must be a list of at most {_MOST_EVENTS} types.")
    if not all(isinstance(one, str) and _EVENT.fullmatch(one) for one in specific):
        raise refuse("events", "specificEvents must have names of types, such as InvoiceSettled.")
    return list(dict.fromkeys(specific))
