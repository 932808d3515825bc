"""Readers for fields of a request's body. Each raises InvalidRequestError naming the parameter."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final
from unicodedata import category

from gateway.core import json
from gateway.core.api.errors import InvalidRequestError
from gateway.core.currencies import DECIMALS, parse_price
from gateway.core.money import ENDLESS, format_usd, parse_usd
from gateway.core.outbound import MAX_URL_LENGTH, UrlPolicy

MAX_METADATA_BYTES: Final = 4096

# Descriptions may have tabs and several lines.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Spaces, line breaks, control and format characters; and letters that are drawn as nothing.
_INVISIBLE: Final = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
_EMPTY_LETTERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_DIGIT: Final = re.compile(r"\d")
# What keyboards have for a decimal point: a comma, the Arabic mark and comma, and full-width ones.
_POINTS: Final = str.maketrans(dict.fromkeys(",\u066b\u060c\uff0c\uff0e", "."))


def refuse(param: str, message: str, code: str = "parameter_invalid") -> InvalidRequestError:
    """Return the error for an invalid parameter."""
    return InvalidRequestError(message, param=param, code=code)


def missing(param: str) -> InvalidRequestError:
    """Return the error for a missing required parameter."""
    return refuse(param, f"{param} is required.", "parameter_missing")


def text_in(body: Mapping[str, Any], name: str, longest: int | None) -> str:
    """Return an optional text; "" if it is absent."""
    return text_of(body.get(name), name, longest)


def text_of(value: Any, name: str, longest: int | None) -> str:
    """Return a text; "" for null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refuse(name, f"{name} must be a string.")
    check_characters(value, name)
    if longest is not None and len(value) > longest:
        raise refuse(name, f"{name} must be at most {longest} characters.", "parameter_too_long")
    return value


def url_of(value: Any, name: str, check: Callable[..., object], policy: UrlPolicy) -> str:
    """Return a URL that `check`, a check of gateway.core.outbound, accepts; "" for null."""
    text = text_of(value, name, MAX_URL_LENGTH)
    if text:
        check(text, param=name, policy=policy)
    return text


def usd_of(value: Any, name: str, low: Decimal, high: Decimal) -> Decimal:
    """Return an amount in USD from `low` to `high`: a string of ASCII digits with at most two decimals."""
    if json.number_text(value) is not None:
        raise refuse(
            name,
            f'{name} must be a string such as "25.00"; a JSON number has lost precision already.',
            "amount_not_string",
        )
    amount = parse_usd(value) if isinstance(value, str) else None
    if amount is None:
        raise refuse(name, f'{name} must look like "25" or "25.00", digits only.', "amount_invalid")
    return usd_within(amount, name, low, high)


def typed_usd_of(text: str, name: str, low: Decimal, high: Decimal) -> Decimal:
    """Return an amount in USD as people type it: with a dollar sign, a decimal comma, or the digits of their script."""
    plain = text.strip().removeprefix("$").strip()
    return usd_of(ascii_digits(plain).translate(_POINTS), name, low, high)


def ascii_digits(text: str) -> str:
    """Return a text with the decimal digits of all scripts as ASCII ones."""
    return text if text.isascii() else _DIGIT.sub(lambda digit: str(int(digit[0])), text)


def usd_within(amount: Decimal, name: str, low: Decimal, high: Decimal) -> Decimal:
    """Return the amount if it is from `low` to `high`."""
    if not low <= amount <= high:
        raise refuse(name, f"{name} must be from {format_usd(low)} to {format_usd(high)}.", "amount_out_of_range")
    return amount


def price_of(value: Any, name: str, currency: str) -> Decimal:
    """Return a price in a currency other than USD: a string of ASCII digits with at most its decimals, more than zero."""
    decimals = DECIMALS[currency]
    shown = '"1200"' if decimals == 0 else '"25.00"'
    if json.number_text(value) is not None:
        raise refuse(
            name,
            f"{name} must be a string such as {shown}; a JSON number has lost precision already.",
            "amount_not_string",
        )
    amount = parse_price(value, currency) if isinstance(value, str) else None
    if amount is None:
        raise refuse(name, f"{name} in {currency} must look like {shown}, digits only.", "amount_invalid")
    if not 0 < amount < ENDLESS:
        message = f"{name} must be more than zero, and have at most 15 digits before the point."
        raise refuse(name, message, "amount_out_of_range")
    return amount


def typed_price_of(text: str, name: str, currency: str) -> Decimal:
    """Return a price in a currency other than USD as people type it: with a decimal comma, or the digits of their script."""
    return price_of(ascii_digits(text.strip()).translate(_POINTS), name, currency)


def flag_of(value: Any, name: str) -> bool:
    """Return a boolean; False for null."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise refuse(name, f"{name} must be true or false.")
    return value


def metadata_of(value: Any) -> str:
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


def check_characters(text: str, name: str) -> None:
    """Refuse NUL and other control characters, which no text has, but for tabs and line breaks; and lone surrogates."""
    if text.isprintable():
        return
    if found := _CONTROL.search(text):
        code = f"U+{ord(found[0]):04X}"
        raise refuse(name, f"{name} must not contain control characters ({code}).")
    if not storable(text):
        raise refuse(name, f"{name} must be valid Unicode: it has half a character.")


def storable(text: str) -> bool:
    """Return whether PostgreSQL can store `text`: no NUL, no lone surrogate."""
    return "\x00" not in text and (text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text))


def is_blank(text: str) -> bool:
    """Return whether a reader sees nothing of `text`: it is empty, or of spaces and invisible characters alone."""
    return all(char in _EMPTY_LETTERS or category(char) in _INVISIBLE for char in text)
