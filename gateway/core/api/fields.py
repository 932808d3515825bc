"""Readers for fields of a request's body."""

from collections.abc import Mapping
from typing import Any

from gateway.core.api.errors import InvalidRequestError


def refuse(
    param: str, message: str, code: str = "parameter_invalid"
) -> InvalidRequestError:
    """Return the error for an invalid parameter."""
    return InvalidRequestError(message, param=param, code=code)


def missing(param: str) -> InvalidRequestError:
    """Return the error for a missing required parameter."""
    return refuse(param, f"{param} is required.", "parameter_missing")


def text_in(body: Mapping[str, Any], name: str, longest: int) -> str:
    """Return an optional text; "" if it is absent."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or not storable(value):
        raise refuse(name, f"{name} must be a string.")
    if len(value) > longest:
        raise refuse(
            name, f"{name} must be at most {longest} characters.", "parameter_too_long"
        )
    return value


def storable(text: str) -> bool:
    """Return whether PostgreSQL can store `text`: no NUL, no lone surrogate."""
    return "\x00" not in text and (
        text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
    )
