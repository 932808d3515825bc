"""The hashes of transactions, in every way in which people paste them.

Nothing is fetched: of an explorer's address only the text is read.
"""

import base64
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

import base58

from wallets.chains.specs import CHAINS, Family

LONGEST_TEXT: Final = 1_000
"""Far longer than any explorer's address; what is longer is not looked at."""

_HEX: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})", re.ASCII)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{43}=?", re.ASCII)
_BASE58: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{64,88}", re.ASCII)
# What copying brings along: marks of several languages around it, and those that turn writing around.
_AROUND: Final = (
    " \t\r\n\v\f\u00a0\u3000\u200b\ufeff\"'`<>()[]{}.,;:!\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2026"
    "\u3002\u3001\uff0c\uff1b\uff08\uff09\u300c\u300d\u060c\u061b"
    "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
# A colon too: wallets write `TxID:` before it.
_BETWEEN: Final = re.compile(r"[/?#&=:\uff1a\s]+")
_SIGNATURE_BYTES: Final = 64


class UnreadableHashError(ValueError):
    """The text holds no hash of a transaction, or more than one."""


def spellings(text: str) -> dict[str, str]:
    """Return by chain how it would write the transaction that a text names, for each chain that could have it.

    Taken are hexadecimal with or without 0x, base58 of 64 bytes, base64 of 32 bytes in both alphabets, and an explorer's
    address with one of them in it. Raises UnreadableHashError.
    """
    if len(text) > LONGEST_TEXT:
        raise UnreadableHashError("the text is too long")
    # An address may repeat its hash, but not name two.
    found = {tuple(read.items()) for part in _parts(text) if (read := _read(part))}
    if len(found) != 1:
        raise UnreadableHashError("the text does not name one transaction")
    return dict(found.pop())


def _parts(text: str) -> Iterator[str]:
    """The text itself, and what stands between the marks of an address, each with its escapes undone."""
    yield text.strip(_AROUND)
    for part in _BETWEEN.split(text):
        yield unquote(part).strip(_AROUND)


def _read(text: str) -> dict[str, str]:
    """What the chains would write; empty where the text is no hash."""
    if found := _HEX.fullmatch(text):
        return _of_bytes(found[1].lower())
    if _BASE64.fullmatch(text) and (digits := _from_base64(text)):
        # Only TON writes hashes so.
        return dict.fromkeys(_names(Family.TON), digits)
    if _BASE58.fullmatch(text) and _is_signature(text):
        return dict.fromkeys(_names(Family.SOLANA), text)
    return {}


def _of_bytes(digits: str) -> dict[str, str]:
    return (
        dict.fromkeys(_names(Family.EVM), f"0x{digits}")
        | dict.fromkeys(_names(Family.TRON), digits)
        | dict.fromkeys(_names(Family.TON), digits)
    )


def _names(family: Family) -> list[str]:
    return [facts.name for facts in CHAINS if facts.family is family]


def _from_base64(text: str) -> str:
    """Return base64 as hexadecimal digits; empty where the text is base64 of something else."""
    standard = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    found = base64.b64decode(f"{standard}=")
    # Bits that nothing uses are zero in what a program wrote.
    return found.hex() if base64.b64encode(found) == f"{standard}=".encode() else ""


def _is_signature(text: str) -> bool:
    try:
        return len(base58.b58decode(text)) == _SIGNATURE_BYTES
    except ValueError:
        return False
