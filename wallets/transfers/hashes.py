"""The hashes of transactions, in every way in which people paste them.

Nothing is fetched: of an explorer's address only the text is read.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from wallets.chains import registry

LONGEST_TEXT: Final = 1_000
"""Far longer than any explorer's address; what is longer is not looked at."""

# What copying brings along: marks of several languages around it, and those that turn writing around.
_AROUND: Final = (
    " \t\r\n\v\f\u00a0\u3000\u200b\ufeff\"'`<>()[]{}.,;:!\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2026"
    "\u3002\u3001\uff0c\uff1b\uff08\uff09\u300c\u300d\u060c\u061b"
    "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
# A colon too: wallets write `TxID:` before it.
_BETWEEN: Final = re.compile(r"[/?#&=:\uff1a\s]+")


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
    found = {family: family.transaction_hash(text) for family in registry.FAMILIES}
    return {
        facts.name: written
        for facts in registry.CHAINS
        if (written := found[facts.family]) is not None
    }
