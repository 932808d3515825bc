"""What a checkout's money is worth in USD, and what its price is in each token: the one place where units of tokens become USD.

Most tokens are one USD each. A token of another currency has a *due* in a checkout: the units that are its whole price, fixed when
the checkout is created, whatever the rate does. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from checkouts.rows import AnyCheckout
from gateway.core.money import to_units
from wallets.networks import is_of_dollars

TokenUnits = tuple[str, int]
"""A token's symbol, and an amount of it in base units with six decimals."""

_UNITS: Final = "units"


def dues_of(checkout: AnyCheckout) -> dict[str, int]:
    """Return the units that are the checkout's whole price, of each token that it offers and that is not one USD."""
    return {token: int(due[_UNITS]) for token, due in (checkout.dues or {}).items()}


def is_due_on(checkout: AnyCheckout, chain: str, token: str) -> bool:
    """Return whether a checkout offered a token of another currency on a chain: it stays payable, whatever the settings say now."""
    offer = checkout.offers.get(chain)
    return offer is not None and token in offer["tokens"] and token in dues_of(checkout)


def takes_worth_of(checkout: AnyCheckout, token: str) -> bool:
    """Return whether a token is worth anything in a checkout: one of dollars, or one that it has a due for."""
    return is_of_dollars(token) or token in dues_of(checkout)


def value_of(checkout: AnyCheckout, money: Iterable[TokenUnits]) -> int:
    """Return what money is worth in a checkout, in millionths of a USD, as `value_units` does."""
    return value_units(money, price_units=to_units(checkout.amount), dues=dues_of(checkout))


def value_units(money: Iterable[TokenUnits], *, price_units: int, dues: Mapping[str, int]) -> int:
    """Return what money is worth in millionths of a USD, in a checkout of `price_units` USD with these dues.

    Units are added up token by token first, and each sum is converted once, rounded down: the whole due is exactly the price, in
    however many parts it came. A token of another currency that has no due is worth nothing, never a dollar.
    """
    sums = token_sums(money)
    return sum(
        units * price_units // dues[token] if token in dues else units * is_of_dollars(token)
        for token, units in sums.items()
    )


def token_sums(money: Iterable[TokenUnits]) -> Mapping[str, int]:
    """Return the sum of each token's units; 0 for a token that is not there."""
    sums: defaultdict[str, int] = defaultdict(int)
    for token, units in money:
        sums[token] += units
    return sums


def units_to_send(token: str, money: Iterable[TokenUnits], *, price_units: int, dues: Mapping[str, int]) -> int:
    """Return the least units of a token that bring the worth of money to the price; 0 where it has that."""
    sums = dict(token_sums(money))
    came = sums.pop(token, 0)
    rest = price_units - value_units(sums.items(), price_units=price_units, dues=dues)
    whole = -(-rest * dues[token] // price_units) if token in dues else rest
    return max(whole - came, 0)


def units_worth(value: int, due: int, *, price_units: int) -> int:
    """Return the units of a token that are worth so many millionths of a USD, rounded down, where `due` units are the whole price."""
    return value * due // price_units
