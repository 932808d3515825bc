"""The request that every wallet takes, and the error that it raises."""

from dataclasses import dataclass
from typing import Any

ChainEntry = dict[str, Any]
"""A chain as var/demo.json names it: see `demo.chains.LocalChain`."""


class WalletError(Exception):
    """The transfer was not made; the message says why."""


@dataclass(frozen=True)
class Transfer:
    """What to send: base units of the token at an address, to an owner's address, with what the wallet writes beside it.

    `reference` is a Solana Pay reference in base58, `comment` a text for chains that carry one; empty: none.
    """

    token_address: str
    to: str
    units: int
    reference: str = ""
    comment: str = ""
