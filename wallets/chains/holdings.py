"""What accounts hold of a chain's accepted tokens, whatever the chain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Holdings:
    """What accounts held at a block: by account key, base units by token symbol, every accepted token among them.

    `height` is the block, or one shortly before it where the chain's nodes tell only what is held now.
    """

    height: int
    units: Mapping[bytes, Mapping[str, int]]


class HoldingsReader(Protocol):
    """Asks one chain's nodes what accounts hold. Raises ChainError subclasses, and nothing else."""

    @property
    def at_once(self) -> int:
        """How many accounts are best asked for by one call."""

    def read(self, accounts: Mapping[bytes, str]) -> Holdings:
        """Return what these accounts hold, all of it told by one node; `accounts` are canonical addresses by key."""
