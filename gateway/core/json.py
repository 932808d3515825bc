"""JSON reader that keeps the spelling of numbers, a fast writer, and a formatter for people."""

import json
import re
from typing import Any, Final

import orjson

_SAFE_INTEGER_DIGITS = 18
MAX_DEPTH = 240  # orjson writes 254 levels
# An unterminated string matches to the end of the body. Otherwise each escaped quote in it would start another search,
# and a body of 256 KB would keep the process busy for minutes.
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")

_PIECES: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]|[^\[\]{},:"\s]++')
_BEGINS: Final = {"{", "["}
_ENDS: Final = {"}", "]"}
_EMPTY: Final = {"{}", "[]"}
_INDENT: Final = "  "


class NotJsonError(ValueError):
    """The bytes are not JSON, or the value cannot be written as JSON."""


class Number:
    """A JSON number as it was spelled."""

    # Not a dataclass: orjson would write one as an object.
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _integer(text: str) -> int | Number:
    # Python's integers have no -0.
    return int(text) if len(text) <= _SAFE_INTEGER_DIGITS and text != "-0" else Number(text)


def _refuse_constant(text: str) -> Any:
    raise NotJsonError(f"{text} is not JSON")


_decoder = json.JSONDecoder(parse_float=Number, parse_int=_integer, parse_constant=_refuse_constant)


def loads(body: bytes, *, deepest: int = MAX_DEPTH) -> Any:
    """Parse strict JSON of at most `deepest` levels. Raises NotJsonError for anything else, however deeply nested."""
    if _may_be_deeper(body, deepest):
        raise NotJsonError("nested too deeply")
    try:
        return _decoder.decode(body.decode("utf-8"))
    except ValueError as error:
        raise NotJsonError("not JSON") from error


def _may_be_deeper(body: bytes, deepest: int) -> bool:
    """Return whether the nesting may exceed `deepest`. Checked before recursing: libraries raise the recursion limit too far."""
    if body.count(b"[") + body.count(b"{") <= deepest:
        return False
    depth = found = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        found = max(found, depth)
    return found > deepest


def dumps(value: Any) -> bytes:
    """Write compact UTF-8 JSON. Raises NotJsonError for values that JSON cannot express (lone surrogates, endless nesting)."""
    try:
        return orjson.dumps(value, default=_spelled)
    except orjson.JSONEncodeError as error:
        raise NotJsonError(str(error)) from error


def canonical(value: Any) -> bytes:
    """Write what `loads` returned with the names of each object in order. Raises NotJsonError as `dumps` does."""
    try:
        return orjson.dumps(value, default=_spelled, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise NotJsonError(str(error)) from error


def _spelled(value: Any) -> orjson.Fragment:
    if isinstance(value, Number):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is not JSON")


def number_text(value: Any) -> str | None:
    """Return the spelling of a number that `loads` produced, or None if `value` is not a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    return value.text if isinstance(value, Number) else None


def indented(text: str) -> str:
    """Return valid JSON, indented."""
    written: list[str] = []
    depth, before = 0, ""
    for piece in _PIECES.findall(text):
        depth -= piece in _ENDS
        written += (_gap(before, piece, depth), piece)
        depth += piece in _BEGINS
        before = piece
    return "".join(written)


def _gap(before: str, piece: str, depth: int) -> str:
    if before == ":":
        return " "
    begins_line = before == "," or before in _BEGINS or piece in _ENDS
    return "\n" + _INDENT * depth if begins_line and before + piece not in _EMPTY else ""
