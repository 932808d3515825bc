"""What differs between the chains that speak Ethereum's JSON-RPC."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wallets.chains.evm.decode import PADDING
from wallets.forwarders.addresses import checksum


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a chain writes what nodes tell, and what its nodes take.

    `write_address` makes of 20 bytes what people see, and `contract` of that what nodes write: 0x and lower-case hex.
    `paddings` are what may stand before an address in a topic. `tx_prefix` is what transaction ids begin with where
    people see them; nodes always write 0x.
    """

    write_address: Callable[[bytes], str]
    contract: Callable[[str], str]
    paddings: tuple[str, ...] = (PADDING,)
    tx_prefix: str = "0x"
    # go-ethereum's limit of alternatives for a topic, and java-tron's.
    most_topics: int = 1_000
    most_blocks: int | None = None
    # Whether the finality tag alone makes final, and a node without it may be believed by depth.
    tag_suffices: bool = False
    # Whether contracts can be asked about a block by its height, and not only about the newest one.
    keeps_states: bool = True
    # How many blocks are above a final one at least, whatever a node says.
    least_tag_lag: int = 0


ETHEREUM: Final = Dialect(write_address=checksum, contract=str.lower)
"""Ethereum and the chains that imitate it in all of this: Base, Polygon."""
