"""Differences between the chains that use Ethereum's JSON-RPC."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wallets.chains.evm.decode import PADDING
from wallets.forwarders.addresses import checksum


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a chain writes node answers, and what its nodes accept.

    `write_address` turns 20 bytes into the address for people, and `contract` turns that into the nodes' form: 0x and
    lower-case hex. `paddings` are the allowed paddings of an address in a topic. `tx_prefix` is the prefix of
    transaction ids shown to people; nodes always write 0x.
    """

    write_address: Callable[[bytes], str]
    contract: Callable[[str], str]
    paddings: tuple[str, ...] = (PADDING,)
    tx_prefix: str = "0x"
    # go-ethereum's limit of alternatives for a topic, and java-tron's.
    most_topics: int = 1_000
    most_blocks: int | None = None
    # Whether the finality tag alone decides, and depth may replace it on nodes without it.
    tag_suffices: bool = False
    # Whether contract calls at an earlier block are possible, and not only at the newest.
    keeps_states: bool = True
    # The least number of blocks above a final one, regardless of the node's finality tag.
    least_tag_lag: int = 0


ETHEREUM: Final = Dialect(write_address=checksum, contract=str.lower)
"""Ethereum and chains that match it in all of this: Base, Polygon."""
