"""When a checkout counts as paid. Pure arithmetic on exact Decimals and integer base units."""

from decimal import Decimal

from gateway.core.money import CENT, to_units

# Below ten cents the tolerance would exceed a useful share of the price.
MIN_AMOUNT = Decimal("0.10")
MAX_AMOUNT = Decimal("1000000.00")
_TOLERANCE_RATE = Decimal("0.01")
_MIN_TOLERANCE = Decimal("0.05")
# Smaller transfers are recorded but never matched: they are usually spam.
DUST_UNITS = to_units(CENT)


def tolerance(amount: Decimal) -> Decimal:
    """Return how far from `amount` USD a payment may be: the larger of 1 % and 5 cents."""
    return max(amount * _TOLERANCE_RATE, _MIN_TOLERANCE)


def needed_units(amount: Decimal) -> int:
    """Return the base units at which a checkout of `amount` USD counts as paid."""
    return to_units(amount - tolerance(amount))


def overpaid_above_units(amount: Decimal) -> int:
    """Return the base units above which a checkout of `amount` USD is overpaid."""
    return to_units(amount + tolerance(amount))
