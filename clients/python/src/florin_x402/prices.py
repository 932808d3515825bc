"""Prices of requests."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal

from florin_x402.bazaar import Listing
from florin_x402.errors import SettingsError
from florin_x402.paths import compile_pattern, spellings

DECIMALS: Final = 6
DEAR: Final = Decimal(1)
"""From this amount on, payments are settled before the handler runs, unless the price says otherwise."""

# As the facilitator reads it: it refuses leading zeros, after the payer has paid.
_AMOUNT: Final = re.compile(r"(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,6})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Price:
    """What a request costs: `amount` in tokens, such as "0.01", never a float.

    `networks` are the chains it may be paid on, the preferred one first; empty leaves it to the facilitator's own order. `token`
    is a symbol, empty for any that a chain has of those worth one USD. `settle` tells when a signed authorisation is carried out:
    "before" the handler runs, or "after" it answered with a status below 400. `seconds` is how long an authorisation has to be
    good for. `listing` is what catalogues show.
    """

    amount: str | Decimal
    networks: tuple[str, ...] = ()
    token: str = ""
    settle: Literal["before", "after", ""] = ""
    description: str = ""
    mime_type: str = ""
    seconds: int = 60
    listing: Listing | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.amount, str | Decimal):
            raise SettingsError('A price is a string such as "0.01", or a Decimal.')
        if not _AMOUNT.fullmatch(self.text) or not self.units:
            raise SettingsError(f"{self.text!r} is no price with up to six decimals.")
        if self.settle not in {"before", "after", ""}:
            raise SettingsError('settle is "before" or "after".')

    @property
    def text(self) -> str:
        """The amount as the specification's protocol writes it."""
        amount = self.amount
        return amount if isinstance(amount, str) else format(amount, "f")

    @property
    def units(self) -> int:
        """The amount in units of 10^-6 tokens. Tokens that count finer, as on BNB Smart Chain, are sold by hash, where amounts are decimal."""
        return int(Decimal(self.text).scaleb(DECIMALS))

    @property
    def settles_first(self) -> bool:
        """Whether money moves before the handler runs."""
        return self.settle == "before" or (not self.settle and Decimal(self.text) >= DEAR)


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request that decide about payment. `paths` are decoded once, as servers pass them.

    `url` is the resource's address in responses, `query` what follows its question mark. `proof` is the content of X-PAYMENT, `signed` that of
    PAYMENT-SIGNATURE; None where there is none. `authorization` and `payment_authorization` are those of Authorization and
    Payment-Authorization, one of which may have a credential of MPP.
    """

    method: str
    paths: tuple[str, ...]
    url: str
    # What pays is in no log, also where a function of a price logs what it got.
    proof: str | None = field(default=None, repr=False)
    signed: str | None = field(default=None, repr=False)
    query: str = ""
    authorization: str | None = field(default=None, repr=False)
    payment_authorization: str | None = field(default=None, repr=False)


PriceLike = Price | str | Decimal | None
"""None costs nothing."""

Rule = Callable[[Asked], PriceLike]
"""Returns the price of a request with a matching path."""


class PriceList:
    """Prices by pattern of path. The first pattern that matches counts."""

    def __init__(self, prices: Mapping[str, PriceLike | Rule]) -> None:
        if not prices:
            raise SettingsError("prices is empty: nothing would be protected.")
        self._entries = [
            (compile_pattern(pattern), told if callable(told) else _price(told)) for pattern, told in prices.items()
        ]

    def price_of(self, asked: Asked) -> Price | None:
        """Return a request's price: the highest among all readings of its path. None if all are free."""
        readings = {one for path in asked.paths for one in spellings(path)}
        places = {place for one in readings if (place := self._place(one)) is not None}
        found = (self._told(place, asked) for place in sorted(places))
        return max(filter(None, found), key=lambda price: price.units, default=None)

    def _told(self, place: int, asked: Asked) -> Price | None:
        told = self._entries[place][1]
        return _price(told(asked)) if callable(told) else told

    def _place(self, path: str) -> int | None:
        for place, (pattern, _) in enumerate(self._entries):
            if pattern.fullmatch(path):
                return place
        return None


def _price(told: PriceLike) -> Price | None:
    return told if isinstance(told, Price) or told is None else Price(told)
