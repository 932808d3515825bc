"""Gas limits of each chain, from the settings or the chain's facts. In wei."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.conf import settings

from wallets.chains.registry import facts_of
from wallets.chains.specs import GasFacts

GWEI: Final = 10**9
COIN: Final = 10**18


@dataclass(frozen=True, slots=True)
class GasPolicy:
    """The highest gas price, the daily limit, and the balance that triggers a warning."""

    max_fee: int
    daily: int
    low: int


def gas_policy(chain: str) -> GasPolicy:
    """Return a chain's policy. Raises KeyError for a chain without gas payments, and for Solana, which has no wei."""
    known = _of_wei(gas_facts(chain).most_gwei, chain)
    most_gwei = settings.GAS_MAX_GWEI.get(chain, known)
    return GasPolicy(
        max_fee=int(Decimal(most_gwei) * GWEI), daily=int(daily_coins(chain) * COIN), low=int(low_coins(chain) * COIN)
    )


def gas_facts(chain: str) -> GasFacts:
    """Return the default gas facts. Raises KeyError for a chain without gas payments."""
    gas = facts_of(chain).gas
    if gas is None:
        raise KeyError(chain)
    return gas


def daily_coins(chain: str) -> Decimal:
    """Return the daily limit in the chain's coin. Raises KeyError as `gas_facts`."""
    return Decimal(settings.GAS_DAILY_COINS.get(chain, gas_facts(chain).daily_coins))


def low_coins(chain: str) -> Decimal:
    """Return the balance that triggers a warning, in the chain's coin. Raises KeyError as `gas_facts`."""
    return Decimal(settings.GAS_LOW_COINS.get(chain, gas_facts(chain).low_coins))


def coin_usd(chain: str) -> Decimal:
    """Return the assumed price of a chain's coin. Raises KeyError as `gas_policy`."""
    known = _of_wei(gas_facts(chain).coin_usd, chain)
    return Decimal(settings.GAS_COIN_USD.get(chain, known))


def _of_wei(fact: str | None, chain: str) -> str:
    if fact is None:
        raise KeyError(chain)
    return fact
