"""Whether a sweep is worth its gas. One unit of an accepted token counts as a millionth of a dollar."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.conf import settings

from gateway.core.money import TOKEN_DECIMALS
from settlements.gas.fees import Prices
from settlements.gas.policy import COIN, coin_usd
from settlements.sweeps.calls import Item, gas_of

_USD_UNITS: Final = 10**TOKEN_DECIMALS


@dataclass(frozen=True, slots=True)
class Quote:
    """An approximate cost: in wei, and in the token's base units."""

    gas: int
    wei: int
    units: int


def quote(chain: str, gas: int, prices: Prices) -> Quote:
    """Return the cost of gas at a chain's current prices."""
    wei = gas * (prices.base_fee + prices.tip)
    usd = Decimal(wei) * coin_usd(chain) / COIN
    return Quote(gas, wei, int(usd * _USD_UNITS))


def worthwhile(chain: str, items: Sequence[Item], prices: Prices) -> list[Item]:
    """Drop items whose own gas exceeds SWEEP_MOST_COST of their balance: they wait for more money, or cheaper gas."""
    most = Decimal(settings.SWEEP_MOST_COST)
    return [item for item in items if quote(chain, gas_of([item]), prices).units <= most * item.units]


def is_worthwhile(chain: str, items: Sequence[Item], prices: Prices) -> bool:
    """Whether a batch's gas costs at most SWEEP_MOST_COST of its total balance."""
    units = sum(item.units for item in items)
    most = Decimal(settings.SWEEP_MOST_COST) * units
    return quote(chain, gas_of(items), prices).units <= most
