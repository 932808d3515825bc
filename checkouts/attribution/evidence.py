"""The facts and the verdict about a transfer to a merchant's own wallet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from checkouts.attribution.deposit_rules import CheckoutFacts, Decision, ToInbox, TransferFacts, is_older
from checkouts.exact_amounts import price_of
from checkouts.pricing import needed_units
from checkouts.states import GRACE, LIVE, CheckoutStatus, InboxReason
from gateway.core.money import from_units, to_units


# Cached, because a hundred candidates may share one price, and each is read many times.
@lru_cache(maxsize=4_096)
def _is_covered(amount_units: int, seen_units: int) -> bool:
    return seen_units >= needed_units(from_units(amount_units))


@lru_cache(maxsize=4_096)
def _price_units(amount_units: int, seen_units: int) -> int:
    if _is_covered(amount_units, seen_units):
        return amount_units
    return to_units(price_of(amount_units - seen_units))


@dataclass(frozen=True, slots=True)
class Reserved:
    """An exact amount shown to a buyer: `price_units` (whole cents) and a suffix below one cent."""

    price_units: int
    suffix: int
    reserved_at: datetime

    @property
    def units(self) -> int:
        """Return the base units to be sent."""
        return self.price_units + self.suffix


@dataclass(frozen=True, slots=True)
class Candidate(CheckoutFacts):
    """A checkout that might be meant. `reserved` are its exact amounts that are not released."""

    pk: int
    public_id: str
    amount_units: int
    seen_units: int
    created_at: datetime
    customer_ref: str
    product_ref: str
    reserved: tuple[Reserved, ...] = ()

    @property
    def is_covered(self) -> bool:
        """Whether the transfers seen so far cover its price."""
        return _is_covered(self.amount_units, self.seen_units)

    @property
    def is_partly_paid(self) -> bool:
        """Return whether its page now asks for less than at first."""
        return self.price_units != self.amount_units

    @property
    def price_units(self) -> int:
        """Return what its page asks for now, rounded up to a cent: the price, or the part still due."""
        return _price_units(self.amount_units, self.seen_units)


def is_live(transfer: TransferFacts, checkout: Candidate) -> bool:
    """Whether the checkout can be credited by its price: it asks for money, and the block lies within its time."""
    return (
        checkout.status in LIVE
        and not checkout.is_covered
        and not is_older(transfer.block_time, checkout.created_at, named=False)
        and transfer.block_time <= checkout.expires_at + GRACE
    )


def is_rival(transfer: TransferFacts, checkout: Candidate, span: timedelta) -> bool:
    """Whether its buyer may be paying late. A rival past its expiry may still be live, waiting for a chain to be read."""
    is_over = checkout.status == CheckoutStatus.EXPIRED or checkout.expires_at + GRACE < transfer.block_time
    return (
        is_over
        and bool(span)
        and transfer.block_time - checkout.expires_at < span
        and not is_older(transfer.block_time, checkout.created_at, named=False)
        and checkout.status != CheckoutStatus.COMPLETED
        and not checkout.is_covered
    )


@dataclass(frozen=True, slots=True)
class Known:
    """The facts around a transfer, all of the same merchant and mode.

    `labelled` are the checkouts that its labels name; `candidates` those that match its amount or its digits, live or
    recently expired, including the holder of its exact amount. `former` once held the exact amount. `is_crowded` says that
    there are further candidates, `is_near_crowd` that the further ones have a near price.
    """

    labelled: Sequence[Candidate] = ()
    candidates: Sequence[Candidate] = ()
    former: Candidate | None = None
    is_crowded: bool = False
    is_near_crowd: bool = False


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A checkout that might have been meant but was not credited, and why."""

    checkout: Candidate
    why_not: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a transfer. `checkout` is the credited one, or the probable one of an inbox item."""

    decision: Decision
    checkout: Candidate | None = None
    passed_over: tuple[PassedOver, ...] = ()


def undecided(what: str, live: Sequence[Candidate], rivals: Sequence[Candidate]) -> Verdict:
    """Return the verdict that several checkouts could be meant, or only an ended one, with the reason against each."""
    passed = [PassedOver(c, f"not the only one of {what}") for c in live]
    passed += [PassedOver(c, "expired unpaid shortly before") for c in rivals]
    if not live:
        found = f"no live checkout of {what}; one that expired shortly before may be meant"
        return Verdict(ToInbox(InboxReason.UNMATCHED, found), None, tuple(passed))
    late = f" and {len(rivals)} that expired shortly before" if rivals else ""
    return ambiguous(f"{len(live)} live checkouts{late} of {what}", passed)


def ambiguous(explanation: str, passed: Sequence[PassedOver]) -> Verdict:
    """Return the verdict that a person has to choose."""
    return Verdict(ToInbox(InboxReason.AMBIGUOUS, explanation), None, tuple(passed))
