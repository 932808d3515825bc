"""What a Tron provider enforces. Assign the fields to make it stricter."""

from dataclasses import dataclass
from enum import Enum


class RateLimit(Enum):
    """How it says that it is asked too often."""

    OFF = "off"
    # java-tron's servlet: HTTP status 200, outside of JSON-RPC.
    SERVLET = "servlet"
    # TronGrid's: HTTP status 403, for half a minute.
    BAN = "ban"


@dataclass
class Rules:
    """java-tron's defaults, where it has any."""

    most_blocks: int = 5_000
    most_topics: int = 1_000
    most_results: int = 10_000
    most_in_batch: int = 100
    # How far the solidified block is behind the newest one.
    solidified_lag: int = 19
    knows_finalized: bool = True
    takes_batches: bool = True
    api_key: str | None = None
    rate_limit: RateLimit = RateLimit.OFF
    # What it answers to every signed transaction, taking none; empty: what becomes of it.
    broadcast_code: str = ""
