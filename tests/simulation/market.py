"""A merchant, its checkouts and its buyers: who pays what, when and how, decided by dice with a fixed seed.

The market knows whom each payment is meant for, which nobody who judges payments does.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Final, NamedTuple

from checkouts.amounts import CENT_UNITS, best_free
from checkouts.attribution.deposit_rules import TransferFacts
from checkouts.attribution.exact_rules import Candidate, Reserved
from checkouts.states import CheckoutStatus
from gateway.core.money import from_units

OPENING: Final = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)
MINUTE: Final = timedelta(minutes=1)
LIFETIME: Final = 30 * MINUTE
COOLING: Final = timedelta(hours=72)
ACCEPTED: Final = {"tron": "USDT", "ethereum": "USDT"}
WALLETS: Final = {"tron": "T1", "ethereum": "0x1"}


class Way(StrEnum):
    """How a buyer pays."""

    EXACT = "exact amount"
    LABELLED = "exact amount, with its reference"
    ROUND = "round price"
    ROUND_LABELLED = "round price, with its reference"
    CUT_2 = "cut to 2 decimals"
    CUT_3 = "cut to 3 decimals"
    CUT_4 = "cut to 4 decimals"
    UP_2 = "rounded up to 2 decimals"
    UP_3 = "rounded up to 3 decimals"
    UP_4 = "rounded up to 4 decimals"
    PERCENT_FEE = "less a fee of up to 0.9 %"
    ROUND_FEE = "less a round fee"
    LATE_EXACT = "exact amount, late"
    LATE_ROUND = "round price, under 30 minutes late"
    VERY_LATE_ROUND = "round price, later than that"
    AFTER_DAYS = "exact amount, after it was given up"
    TWICE_EXACT = "exact amount, twice"
    TWICE_ROUND = "exact amount, then the round price too"
    WRONG_CHAIN = "exact amount on a chain not offered"
    WRONG_CHAIN_ROUND = "round price on a chain not offered"
    TOP_UP = "what is missing, by a fresh exact amount"
    TOP_UP_ROUND = "what is missing, rounded up to a cent"
    NOTHING = "nothing"


WEIGHTS: Final = {
    Way.EXACT: 28,
    Way.LABELLED: 6,
    Way.ROUND: 8,
    Way.ROUND_LABELLED: 3,
    Way.CUT_2: 2,
    Way.CUT_3: 2,
    Way.CUT_4: 3,
    Way.UP_2: 1,
    Way.UP_3: 1,
    Way.UP_4: 1,
    Way.PERCENT_FEE: 3,
    Way.ROUND_FEE: 5,
    Way.LATE_EXACT: 2,
    Way.LATE_ROUND: 2,
    Way.VERY_LATE_ROUND: 1,
    Way.AFTER_DAYS: 1,
    Way.TWICE_EXACT: 1,
    Way.TWICE_ROUND: 1,
    Way.WRONG_CHAIN: 1,
    Way.WRONG_CHAIN_ROUND: 1,
    Way.NOTHING: 27,
}
_ROUND_FEES = (500_000, 1_000_000, 1_500_000, 2_000_000, 5_000_000)


class Shop(NamedTuple):
    """What a merchant sells, how much of it, and to whom."""

    name: str
    prices: tuple[int, ...]
    checkouts_an_hour: float
    # The share that names customer and product; customers come again, so that some are interchangeable.
    with_references: float
    customers: int = 8


SHOPS: Final = (
    Shop("a quiet shop", tuple(n * 100 * CENT_UNITS for n in (5, 9, 12, 25, 49, 99)), 4, 0.3),
    Shop(
        "a busy shop with near prices",
        tuple(n * CENT_UNITS for n in (499, 500, 990, 999, 1_000, 1_990, 2_000, 2_500)),
        60,
        0.3,
    ),
    Shop("one price for everybody", (2_500 * CENT_UNITS,), 40, 0.5, customers=3),
    Shop("any price", tuple(n * 37 * CENT_UNITS for n in range(20, 320)), 120, 0.2),
    Shop("a rush at one price", (1_000 * CENT_UNITS, 1_500 * CENT_UNITS), 400, 0.0),
)


@dataclass(slots=True)
class Sale:
    """A checkout, with what its buyer does."""

    facts: Candidate
    way: Way

    @property
    def exact(self) -> Reserved:
        """The exact amount its page shows."""
        return self.facts.reserved[-1]


class Sent(NamedTuple):
    """A payment: what the chain tells of it, and whom it is meant for, which it does not."""

    transfer: TransferFacts
    way: Way
    meant: Sale
    labelled: bool = False


@dataclass
class Market:
    """A shop's checkouts and payments over some time, both in order."""

    shop: Shop
    dice: Random
    sales: list[Sale] = field(default_factory=list)
    _held: dict[int, dict[int, datetime]] = field(default_factory=dict)

    def open_checkouts(self, count: int) -> list[Sale]:
        """Make so many checkouts at random times, each with a buyer who is shown an exact amount at once."""
        ways, weights = zip(*WEIGHTS.items(), strict=True)
        now = OPENING
        for number in range(1, count + 1):
            now += timedelta(hours=self.dice.expovariate(self.shop.checkouts_an_hour))
            [way] = self.dice.choices(ways, weights)
            self.sales.append(Sale(self._checkout(number, now, way), way))
        return self.sales

    def _checkout(self, number: int, now: datetime, way: Way) -> Candidate:
        price = self.dice.choice(self.shop.prices)
        has_refs = self.dice.random() < self.shop.with_references
        customer = f"customer {self.dice.randrange(self.shop.customers)}"
        is_wrong_chain = way in {Way.WRONG_CHAIN, Way.WRONG_CHAIN_ROUND}
        chains = ["tron"] if is_wrong_chain else ["tron", "ethereum"]
        return Candidate(
            pk=number,
            public_id=f"chk_{number}",
            status=CheckoutStatus.PENDING,
            offers={chain: {"tokens": [ACCEPTED[chain]], "wallet": WALLETS[chain]} for chain in chains},
            amount_units=price,
            seen_units=0,
            created_at=now,
            expires_at=now + LIFETIME,
            customer_ref=customer if has_refs else "",
            product_ref=f"product at {price}" if has_refs else "",
            reserved=(self.reserve(price, now),),
        )

    def reserve(self, price: int, now: datetime) -> Reserved:
        """Hand out an exact amount as the product does: nobody's of this price for three days after an end."""
        held = self._held.setdefault(price, {})
        for old, since in list(held.items()):
            if since + LIFETIME + COOLING < now:
                del held[old]
        suffix: int = self.dice.choice(best_free(held))
        held[suffix] = now
        return Reserved(price, suffix, now)

    def payments_of(self, sale: Sale) -> list[Sent]:
        """Return what a buyer sends. A top-up follows only once the checkout is known to be short."""
        way, made = sale.way, sale.facts.created_at
        if way is Way.NOTHING:
            return []
        after = self.dice.uniform(1, 25) * MINUTE
        sent = [self._sent(sale, way, made + after + self._delay(way))]
        if way in {Way.TWICE_EXACT, Way.TWICE_ROUND}:
            again = made + after + self.dice.uniform(0.5, 15) * MINUTE
            sent.append(self._sent(sale, way, again, is_second=True))
        return sent

    def _delay(self, way: Way) -> timedelta:
        match way:
            case Way.LATE_ROUND:
                return LIFETIME + self.dice.uniform(1, 4) * MINUTE
            case Way.LATE_EXACT | Way.VERY_LATE_ROUND:
                return LIFETIME + self.dice.uniform(30, 600) * MINUTE
            case Way.AFTER_DAYS:
                return LIFETIME + COOLING + self.dice.uniform(60, 6_000) * MINUTE
        return timedelta(0)

    def top_up(self, sale: Sale, now: datetime) -> Sent:
        """Return how a buyer who came short makes up for it."""
        way = self.dice.choice([Way.TOP_UP, Way.TOP_UP_ROUND])
        at = now + self.dice.uniform(1, 4) * MINUTE
        return self._sent(sale, way, at)

    def _sent(self, sale: Sale, way: Way, at: datetime, *, is_second: bool = False) -> Sent:
        chain = "tron"
        if way in {Way.WRONG_CHAIN, Way.WRONG_CHAIN_ROUND}:
            chain = "ethereum"
        is_round = is_second and way is Way.TWICE_ROUND
        transfer = TransferFacts(
            chain=chain,
            token=ACCEPTED[chain],
            accepted=True,
            units=sale.facts.price_units if is_round else self._units(sale, way),
            block_time=at.replace(microsecond=0),
            recipient=WALLETS[chain],
        )
        return Sent(transfer, way, sale, way in {Way.LABELLED, Way.ROUND_LABELLED})

    def _units(self, sale: Sale, way: Way) -> int:
        exact, price = sale.exact.units, sale.facts.price_units
        if way in _DECIMALS:
            step: int = 10 ** (6 - _DECIMALS[way])
            is_up = way in {Way.UP_2, Way.UP_3, Way.UP_4}
            return -(-exact // step) * step if is_up else exact - exact % step
        if way is Way.PERCENT_FEE:
            permyriad: int = self.dice.randrange(1, 90)
            return exact - exact * permyriad // 10_000
        if way is Way.ROUND_FEE:
            fee: int = self.dice.choice([f for f in _ROUND_FEES if 2 * f < price])
            return exact - fee
        return price if way in _ROUND else exact


_DECIMALS: Final = {Way.CUT_2: 2, Way.CUT_3: 3, Way.CUT_4: 4, Way.UP_2: 2, Way.UP_3: 3, Way.UP_4: 4}
_ROUND: Final = {
    Way.ROUND,
    Way.ROUND_LABELLED,
    Way.LATE_ROUND,
    Way.VERY_LATE_ROUND,
    Way.WRONG_CHAIN_ROUND,
    Way.TOP_UP_ROUND,
}


@dataclass(slots=True)
class Tally:
    """What became of the payments of one way.

    `right`: credited to whom they were meant for. `named`: in the inbox, as theirs. `left`: in the inbox, as anybody's.
    `ceiling`: what a reader of the transfer's own facts could have credited. `wrong`: a stranger's, though that could be
    told. `beyond` and `misnamed`: credited to a stranger, or in the inbox as a stranger's, and nothing could have told.
    """

    payments: int = 0
    right: int = 0
    ceiling: int = 0
    named: int = 0
    left: int = 0
    wrong: list[str] = field(default_factory=list)
    beyond: Counter[str] = field(default_factory=Counter)
    misnamed: Counter[str] = field(default_factory=Counter)


def money(units: int) -> str:
    """Write base units for a person."""
    return f"{from_units(units):f}"
