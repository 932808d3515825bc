"""The product's statement of a creation in asyncpg's form: positional parameters, each with its type."""

import re
from typing import Any, Final

from checkouts.creation.service import _STATEMENTS

# Without a driver's type codes PostgreSQL takes parameters of an INSERT's SELECT for text.
_TYPES: Final = {
    "merchant": "bigint",
    "escrow": "boolean",
    "amount": "numeric",
    "nonce": "bytea",
    "keys": "bytea",
    "destinations": "bytea",
    "day": "date",
    "offers": "jsonb",
    "expires_at": "timestamptz",
    "created_at": "timestamptz",
    "watched_until": "timestamptz",
}
_LIVE: Final = _STATEMENTS[False, False]
_NAMES: Final[list[str]] = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", _LIVE)))


def _positional(match: re.Match[str]) -> str:
    name = match[1]
    return f"${_NAMES.index(name) + 1}::{_TYPES.get(name, 'text')}"


CREATE: Final = re.sub(r"%\((\w+)\)s", _positional, _LIVE)


def values(parameters: dict[str, Any]) -> list[Any]:
    """Return the statement's parameters in order."""
    return [parameters[name] for name in _NAMES]
