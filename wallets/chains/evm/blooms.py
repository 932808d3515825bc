"""Block headers' bloom filters, which show when a node's "no logs" answer must be wrong.

For each address and each topic of its logs a header has up to three of 2,048 bits set, which keccak selects (Ethereum's
yellow paper, 4.3.1). Everything in a block has its bits set. Other items may match too, more often the fuller the filter
is.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from wallets.forwarders.addresses import keccak

SILENT: Final = 0
"""The empty filter, which shows nothing: of a block without logs, or from a node without filters, such as java-tron."""

_BITS: Final = 2_048
_WRITTEN: Final = re.compile(r"0x[0-9a-fA-F]{512}", re.ASCII)
# The probability that one name matches a filter with four of ten bits set. Blocks of Ethereum, Base and Polygon are fuller
# (EIP-7745): there almost every block would match.
_MOST_FALSE: Final = 0.4**3


def read_bloom(answer: Any) -> int:
    """Read a header's `logsBloom`; an invalid one counts as `SILENT`."""
    if not isinstance(answer, str) or not _WRITTEN.fullmatch(answer):
        return SILENT
    return int(answer, 16)


@lru_cache(maxsize=4_096)
def bits_of(item: str) -> int:
    """Return the bits that stand for an address or a topic, written as 0x and hex."""
    digest = keccak(bytes.fromhex(item[2:]))
    places = {int.from_bytes(digest[at : at + 2], "big") % _BITS for at in range(0, 6, 2)}
    return sum(1 << place for place in places)


def is_telling(bloom: int, *, names: int) -> bool:
    """Return whether the filter has few enough bits set that this many names rarely match by chance."""
    return bool(names * (bloom.bit_count() / _BITS) ** 3 <= _MOST_FALSE)


def may_hold(bloom: int, items: Iterable[str]) -> bool:
    """Whether a block with this filter may have one of these addresses or topics; False is certain."""
    return any(bits & bloom == bits for bits in map(bits_of, items))
