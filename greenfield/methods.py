"""Payment methods: a token on a chain, `USDC-BASE`. Plugins write a hyphen or an underscore between the two."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from wallets.networks import chains, is_accepted
from wallets.selectors import Offerable

MOST: Final = 64
"""How many payment methods an invoice may name: more than there are."""

_LONGEST: Final = 40

Pair = tuple[str, str]
"""A chain and a token."""


def method_id(chain: str, token: str) -> str:
    """Return a payment method's id. What stands before its hyphen, plugins take for the currency."""
    return f"{token}-{chain}".upper()


def pair_of(method: Any) -> Pair | None:
    """Return the chain and token of an id in any spelling; None for one that is not ours, such as `BTC`."""
    if not isinstance(method, str) or len(method) > _LONGEST:
        return None
    token, _, chain = method.upper().replace("_", "-").partition("-")
    name = chain.lower()
    return (name, token) if name in chains() and is_accepted(name, token) else None


def pairs_of(methods: Any) -> frozenset[Pair]:
    """Return the chains and tokens among an invoice's payment methods.

    Others are left out, not refused: Shopware's plugin always asks for `BTC`.
    """
    if not isinstance(methods, list):
        return frozenset()
    found = (pair_of(one) for one in methods[:MOST])
    return frozenset(pair for pair in found if pair is not None)


def offered_pairs(offerable: Iterable[Offerable]) -> list[Pair]:
    """Return the payment methods of chains, the recommended network first."""
    return [(one.name, token) for one in offerable for token in one.tokens]


def invoice_pairs(offers: Mapping[str, Any]) -> list[Pair]:
    """Return what a checkout offers."""
    return [(chain, token) for chain, offer in offers.items() for token in offer["tokens"]]


def ids(pairs: Iterable[Pair]) -> list[str]:
    """Return the ids of chains and tokens."""
    return [method_id(chain, token) for chain, token in pairs]
