"""JSON read so that numbers keep their spelling, and written fast.

A buyer's metadata must come back equal in value, so floats and integers past 64 bits are never turned into
machine numbers: they travel as orjson fragments holding their own text.
"""

import json
from typing import Any

import orjson

_SAFE_INTEGER_DIGITS = 18


class NotJsonError(ValueError):
    """The bytes are not JSON, or the value cannot be written as JSON."""


def _integer(text: str) -> int | orjson.Fragment:
    return int(text) if len(text) <= _SAFE_INTEGER_DIGITS else orjson.Fragment(text)


def _refuse_constant(text: str) -> Any:
    raise NotJsonError(f"{text} is not JSON")


_decoder = json.JSONDecoder(
    parse_float=orjson.Fragment, parse_int=_integer, parse_constant=_refuse_constant
)


def loads(body: bytes) -> Any:
    """Parse strict JSON. Raises NotJsonError for anything else, however deep or odd."""
    try:
        return _decoder.decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise NotJsonError("not JSON, or nested too deeply") from error


def dumps(value: Any) -> bytes:
    """Write compact UTF-8 JSON. Raises NotJsonError for what JSON cannot say (lone surrogates, endless nesting)."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise NotJsonError(str(error)) from error


def number_text(value: Any) -> str | None:
    """Return the spelling of a number that `loads` produced, or None if `value` is not a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, orjson.Fragment):
        contents = value.contents
        return contents if isinstance(contents, str) else contents.decode()
    return None
