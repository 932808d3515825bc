"""Readers for fields of a request's body."""

import re
from collections.abc import Mapping
from typing import Any, Final
from unicodedata import category

from gateway.core.api.errors import InvalidRequestError

# Descriptions may have tabs and several lines.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Spaces, line breaks, control and format characters; and letters that are drawn as nothing.
_INVISIBLE: Final = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
_EMPTY_LETTERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def refuse(param: str, message: str, code: str = "parameter_invalid") -> InvalidRequestError:
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
    if not isinstance(value, str):
        raise refuse(name, f"{name} must be a string.")
    check_characters(value, name)
    if len(value) > longest:
        raise refuse(name, f"{name} must be at most {longest} characters.", "parameter_too_long")
    return value


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
