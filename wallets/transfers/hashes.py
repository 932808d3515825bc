"""Transaction hashes, in every form that people paste.

Nothing is fetched: an explorer's address is only parsed.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from wallets.chains import registry

LONGEST_TEXT: Final = 1_000
"""Far longer than any explorer's address; longer text is refused."""

# Characters that come along when copying: quotes of several languages, and marks for text direction.
_AROUND: Final = (
    " \t\r\n\v\f\u00a0\u3000\u200b\ufeff\"'`<>()[]{}.,;:!\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2026"
    "\u3002\u3001\uff0c\uff1b\uff08\uff09\u300c\u300d\u060c\u061b"
    "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
# A colon too: wallets write `TxID:` before it.
_BETWEEN: Final = re.compile(r"[/?#&=:\uff1a\s]+")


class UnreadableHashError(ValueError):
    """The text contains no transaction hash, or more than one."""


def spellings(text: str) -> dict[str, str]:
    """Return the transaction hash in a text by chain, as each possible chain would write it.

    Accepted are hexadecimal with or without 0x, base58 of 64 bytes, base64 of 32 bytes in both alphabets, and an explorer's
    address with one of them in it. Raises UnreadableHashError.
    """
    if len(text) > LONGEST_TEXT:
        raise UnreadableHashError("the text is too long")
    # An address may repeat its hash, but not contain two.
    found = {tuple(read.items()) for part in _parts(text) if (read := _read(part))}
    if len(found) != 1:
        raise UnreadableHashError("the text does not name one transaction")
    return dict(found.pop())


def _parts(text: str) -> Iterator[str]:
    """Return the text itself, and its parts between separators, unescaped."""
    yield text.strip(_AROUND)
    for part in _BETWEEN.split(text):
        yield unquote(part).strip(_AROUND)


def _read(text: str) -> dict[str, str]:
    """Return the chains' spellings; empty if the text is not a hash."""
    found = {family: family.transaction_hash(text) for family in registry.FAMILIES}
    return {facts.name: written for facts in registry.CHAINS if (written := found[facts.family]) is not None}
