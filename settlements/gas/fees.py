"""Gas fees of transactions (EIP-1559), in wei per gas. Pure arithmetic."""

from dataclasses import dataclass
from typing import Final

# Nodes replace a waiting transaction only for a tenth more (go-ethereum's and bor's default), some for an eighth.
_RAISE_NUMERATOR: Final = 9
_RAISE_DENOMINATOR: Final = 8


@dataclass(frozen=True, slots=True)
class Prices:
    """Current gas prices: the newest block's base fee, and the tip that its node recommends."""

    base_fee: int
    tip: int


@dataclass(frozen=True, slots=True)
class Fees:
    """The maximum fee and the tip of one signed attempt."""

    max_fee: int
    priority_fee: int


def first_fees(prices: Prices, *, most: int) -> Fees | None:
    """Return fees that last while the base fee doubles, never above `most`; None if gas costs more than that now."""
    if prices.base_fee > most:
        return None
    max_fee = min(2 * prices.base_fee + prices.tip, most)
    return Fees(max_fee, min(prices.tip, max_fee - prices.base_fee))


def raised_fees(before: Fees, prices: Prices, *, most: int) -> Fees | None:
    """Return fees that replace an attempt which waits too long; None if they would exceed `most`."""
    wanted = 2 * prices.base_fee + prices.tip
    max_fee = max(_raised(before.max_fee), wanted)
    priority_fee = max(_raised(before.priority_fee), prices.tip)
    least = _raised(before.max_fee)
    if least > most:
        return None
    max_fee = min(max_fee, most)
    return Fees(max_fee, min(priority_fee, max_fee))


def _raised(fee: int) -> int:
    """Add an eighth, rounded up, and one wei at least."""
    return max(-(-fee * _RAISE_NUMERATOR // _RAISE_DENOMINATOR), fee + 1)
