"""A transfer as a chain tells it."""

from typing import Any

from tests.factories import NOON
from wallets.chains.base import TokenTransfer


def told_transfer(**overrides: Any) -> TokenTransfer:
    """25 USDC that nobody in particular sent on Base."""
    values: dict[str, Any] = {
        "chain": "base",
        "tx_hash": "0x01",
        "position": 0,
        "token": "USDC",
        "token_address": "0x02",
        "units": 25_000_000,
        "sender": "",
        "recipient_key": b"\x03" * 20,
        "recipient": "0x03",
        "block_height": 1,
        "block_hash": "0x04",
        "block_time": NOON,
    }
    return TokenTransfer(**(values | overrides))
