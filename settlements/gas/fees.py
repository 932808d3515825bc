"""What gas may cost: the fees of a transaction (EIP-1559), and each chain's limits. In wei."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.conf import settings

from wallets.chains.family import GasFacts
from wallets.chains.registry import facts_of

# Nodes replace a waiting transaction only for a tenth more (go-ethereum's and bor's default), some for an eighth.
_RAISE_NUMERATOR: Final = 9
_RAISE_DENOMINATOR: Final = 8

GWEI: Final = 10**9
COIN: Final = 10**18
LAMPORTS: Final = 10**9
"""A SOL."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Current gas prices: the newest block's base fee, and the tip that its node recommends. `at` is that block's time, if it was told."""

    base_fee: int
    tip: int
    at: datetime | None = None


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


@dataclass(frozen=True, slots=True)
class GasPolicy:
    """The highest gas price, the daily limit, and the balance that triggers a warning."""

    max_fee: int
    daily: int
    low: int


def gas_policy(chain: str) -> GasPolicy:
    """Return a chain's policy. Raises KeyError for a chain without gas payments, and for Solana, which has no wei."""
    known = _evm_fact(gas_facts(chain).most_gwei, chain)
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
    known = _evm_fact(gas_facts(chain).coin_usd, chain)
    return Decimal(settings.GAS_COIN_USD.get(chain, known))


def _evm_fact(fact: str | None, chain: str) -> str:
    if fact is None:
        raise KeyError(chain)
    return fact
