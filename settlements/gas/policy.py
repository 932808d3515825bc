"""How much gas may cost on each chain, from the settings or what is published about it. Wei throughout."""

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
    """The most that one gas may cost, what a day's transactions may cost in all, and below which balance to tell."""

    max_fee: int
    daily: int
    low: int


def gas_policy(chain: str) -> GasPolicy:
    """Return a chain's policy. Raises KeyError for a chain whose transactions we never pay for, or not in wei (Solana)."""
    known = _of_wei(gas_facts(chain).most_gwei, chain)
    most_gwei = settings.GAS_MAX_GWEI.get(chain, known)
    return GasPolicy(
        max_fee=int(Decimal(most_gwei) * GWEI),
        daily=int(daily_coins(chain) * COIN),
        low=int(low_coins(chain) * COIN),
    )


def gas_facts(chain: str) -> GasFacts:
    """Return what paying for transactions costs unless settings say otherwise. Raises KeyError where we never pay for any."""
    gas = facts_of(chain).gas
    if gas is None:
        raise KeyError(chain)
    return gas


def daily_coins(chain: str) -> Decimal:
    """Return what a day's transactions may cost in all, in the chain's coin. Raises KeyError as `gas_facts`."""
    return Decimal(settings.GAS_DAILY_COINS.get(chain, gas_facts(chain).daily_coins))


def low_coins(chain: str) -> Decimal:
    """Return the balance below which operators are told, in the chain's coin. Raises KeyError as `gas_facts`."""
    return Decimal(settings.GAS_LOW_COINS.get(chain, gas_facts(chain).low_coins))


def coin_usd(chain: str) -> Decimal:
    """Return what a chain's coin is taken to be worth. Raises KeyError as `gas_policy`."""
    known = _of_wei(gas_facts(chain).coin_usd, chain)
    return Decimal(settings.GAS_COIN_USD.get(chain, known))


def _of_wei(fact: str | None, chain: str) -> str:
    if fact is None:
        raise KeyError(chain)
    return fact
