"""How much gas may cost on each chain, from the settings. Wei throughout."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.conf import settings

GWEI: Final = 10**9
COIN: Final = 10**18


@dataclass(frozen=True, slots=True)
class GasPolicy:
    """The most that one gas may cost, what a day's transactions may cost in all, and below which balance to tell."""

    max_fee: int
    daily: int
    low: int


def gas_policy(chain: str) -> GasPolicy:
    """Return a chain's policy. Raises KeyError for a chain without forwarders."""
    return GasPolicy(
        max_fee=_wei(settings.GAS_MAX_GWEI[chain], GWEI),
        daily=_wei(settings.GAS_DAILY_COINS[chain], COIN),
        low=_wei(settings.GAS_LOW_COINS[chain], COIN),
    )


def _wei(amount: str, unit: int) -> int:
    return int(Decimal(amount) * unit)
