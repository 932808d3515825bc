"""JSON in Base64, as in x402 headers. Untrusted input is parsed with limits on everything."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

LONGEST_HEADER: Final = 16_384
"""Maximum characters. The longest valid proof, a Solana transaction with its requirements, has less than a quarter."""

# Python's reader recurses: a header full of brackets must not reach it.
_MOST_BRACKETS: Final = 256

_FROM_URLS: Final = str.maketrans("-_", "+/")


class UnreadableError(Exception):
    """A text is invalid; the message says why, without quoting it."""


def encode(value: Mapping[str, Any]) -> str:
    """Return an object as Base64 of its JSON."""
    return base64.b64encode(json.dumps(value, separators=(",", ":")).encode()).decode()


def decode(text: str) -> dict[str, Any]:
    """Read an object from Base64 of its JSON. Raises UnreadableError."""
    if len(text) > LONGEST_HEADER:
        raise UnreadableError("it is too long")
    try:
        content = base64.b64decode(text.strip(" \t"), validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableError("it is not Base64") from None
    return decode_json(content)


def encode_url(value: Mapping[str, Any]) -> str:
    """Return an object's canonical JSON (RFC 8785) in the Base64 of URLs without padding. Its numbers are integers, its names ASCII."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_url(text: str) -> dict[str, Any]:
    """Read an object from its JSON in the Base64 of URLs, with or without padding. Raises UnreadableError."""
    standard = text.strip(" \t").rstrip("=").translate(_FROM_URLS)
    return decode(standard + "=" * (-len(standard) % 4))


def decode_json(content: bytes) -> dict[str, Any]:
    """Parse a JSON object without duplicate names. Raises UnreadableError."""
    if content.count(b"[") + content.count(b"{") > _MOST_BRACKETS:
        raise UnreadableError("it is nested too deeply")
    try:
        value = json.loads(content.decode(), object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise UnreadableError("it is not JSON") from None
    if not isinstance(value, dict):
        raise UnreadableError("it is not an object")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    # Two parsers could each use a different one of the duplicates.
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(name)
