"""Rules for transfers to a merchant's own wallet, where only amount and labels identify the checkout.

Pure: facts in, a verdict out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from checkouts.amounts import CENT_UNITS, is_cut_of, is_rounded_of, needed_units, price_of, tolerance
from checkouts.attribution.deposit_rules import (
    CheckoutFacts,
    Credit,
    Decision,
    ToInbox,
    TransferFacts,
    is_offered,
    is_older,
    not_in_time,
    not_offered,
    unfit,
)
from checkouts.attribution.labels import code_like
from checkouts.states import GRACE, LIVE, CheckoutStatus, InboxReason
from gateway.core.money import from_units, to_units

MOST_CANDIDATES: Final = 100
"""With more candidates than this, a rule credits none: one merchant's rush must not delay the shared queue."""

MOST_NEAR: Final = 20
"""How many checkouts of a near price are loaded: with this many none is unique, and a person needs no more."""

_LOST: Final = "a restore may have lost the checkout that is meant"
# The suffix of a price is zero, so amounts rounded to five decimals can be compared like the others.
_EXPLAINED: Final = (1_000, 100, 10)


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
    passed += [PassedOver(c, f"it had {_ended(c)} unpaid shortly before") for c in rivals]
    if not live:
        found = f"no live checkout of {what}; one that expired shortly before may be meant"
        return Verdict(ToInbox(InboxReason.UNMATCHED, found), None, tuple(passed))
    late = f" and {len(rivals)} that expired shortly before" if rivals else ""
    return ambiguous(f"{len(live)} live checkouts{late} of {what}", passed)


def _ended(rival: Candidate) -> str:
    return "been cancelled" if rival.is_cancelled else "expired"


def ambiguous(explanation: str, passed: Sequence[PassedOver]) -> Verdict:
    """Return the verdict that a person has to choose."""
    return Verdict(ToInbox(InboxReason.AMBIGUOUS, explanation), None, tuple(passed))


def decide_exact(
    transfer: TransferFacts,
    known: Known,
    *,
    rival_span: timedelta,
    doubts_round_prices: bool = False,
    doubts_prices: bool = False,
) -> Verdict:
    """Judge a transfer that arrived in a merchant's own wallet.

    A checkout that expired unpaid less than `rival_span` before the transfer's block is a rival; zero turns that off. With
    `doubts_round_prices`, exactly a round price beside a rival is doubtful; otherwise `passed_over` names the rival. With
    `doubts_prices`, a restore may have lost the right checkout, so only a label or an exact amount counts.
    """
    if refusal := unfit(transfer):
        return _looks_like(refusal, transfer, known)
    field = _Field(transfer, known, rival_span)
    # No suffix: exactly a price, because prices are whole cents.
    field.asks_rivals = doubts_round_prices or transfer.units % CENT_UNITS != 0
    if named := _named(field):
        return named
    if (verdict := _by_price(field)).checkout is None:
        return verdict
    why = _LOST if doubts_prices else _names_another(transfer)
    passed = PassedOver(verdict.checkout, "its price fits")
    return ambiguous(why, [passed]) if why else verdict


def _names_another(transfer: TransferFacts) -> str:
    """Return that a comment seems to name a checkout that we do not know; empty if none does."""
    code = code_like(transfer.labels)
    words = f"its comment has {code}, which looks like a checkout's code and is none of yours"
    return words if code else ""


def _looks_like(refusal: ToInbox, transfer: TransferFacts, known: Known) -> Verdict:
    """Return another token's refusal, with the checkouts that it would pay as an accepted one."""
    found, chain = (*known.labelled, *known.candidates), transfer.chain
    here = [c.offers[chain] for c in found if chain in c.offers]
    if not here or refusal.reason != InboxReason.WRONG_TOKEN:
        return Verdict(refusal)
    paid = replace(transfer, accepted=True, token=here[0]["tokens"][0])
    as_paid = decide_exact(paid, known, rival_span=timedelta(0))
    return replace(as_paid, decision=refusal)


def _by_price(field: "_Field") -> Verdict:
    return (
        _crowded(field)
        or _by_round_price(field)
        or _crowded_near(field)
        or _by_tolerance(field)
        or _by_suffix(field)
        or _by_nothing(field)
    )


class _Field:
    """The checkouts around a transfer, sorted into those that may be credited and those that only cast doubt."""

    def __init__(self, transfer: TransferFacts, known: Known, rival_span: timedelta) -> None:
        self.transfer = transfer
        self.known = known
        here = [c for c in known.candidates if is_offered(transfer, c, place="wallet")]
        self.live = [c for c in here if is_live(transfer, c)]
        self.rivals = [c for c in here if is_rival(transfer, c, rival_span)]
        self.asks_rivals = True
        counted = {c.pk for c in (*self.live, *self.rivals)}
        self.others = [c for c in known.candidates if c.pk not in counted]

    def holder(self) -> Candidate | None:
        """Return the checkout with exactly this amount; a constraint ensures that there is only one."""
        units = self.transfer.units
        if units % CENT_UNITS == 0:
            return None
        for candidate in self.known.candidates:
            if any(r.units == units for r in self.held(candidate)):
                return candidate
        return None

    def held(self, candidate: Candidate) -> list[Reserved]:
        """Return the exact amounts that a checkout held when the transfer was mined, allowing for clock differences."""
        latest = self.transfer.block_time + GRACE
        return [r for r in candidate.reserved if r.reserved_at <= latest]

    def asked(self, candidate: Candidate) -> list[int]:
        """Return the exact amounts of the current price that could have become this amount."""
        price = candidate.price_units
        if not 0 < self.transfer.units - price < CENT_UNITS:
            return []
        return [r.units for r in self.held(candidate) if r.price_units == price]


def _named(field: _Field) -> Verdict | None:
    """Rule 1: a label names a checkout, or the amount is its exact one. Labels and amount must not disagree."""
    labelled = {candidate.pk: candidate for candidate in field.known.labelled}
    holder = field.holder()
    if holder is not None and (not labelled or holder.pk in labelled):
        how = "its reference" if labelled else "its exact amount"
        return _belongs(field.transfer, holder, how)
    if holder is None and not labelled:
        return None
    if holder is None and len(labelled) == 1:
        [only] = labelled.values()
        return _belongs(field.transfer, only, "its reference")
    named = [PassedOver(c, "a reference names it") for c in labelled.values()]
    if holder is not None:
        named.insert(0, PassedOver(holder, "its exact amount was sent"))
    return ambiguous(
        "references and amount name different checkouts"
        if holder
        else "the references of several checkouts were sent along",
        named,
    )


def _belongs(transfer: TransferFacts, checkout: Candidate, how: str) -> Verdict:
    """Return the verdict that the transfer belongs to this checkout alone: credit it, or put it in the inbox."""
    refusal = (
        not_offered(transfer, checkout, place="wallet")
        or _too_early(transfer, checkout)
        or not_in_time(transfer, checkout)
        or _not_asked(checkout)
    )
    return Verdict(refusal or Credit(f"named by {how}"), checkout)


def _not_asked(checkout: Candidate) -> ToInbox | None:
    if not checkout.is_covered:
        return None
    return ToInbox(InboxReason.EXTRA, "the transfers seen before pay it in full")


def _too_early(transfer: TransferFacts, checkout: Candidate) -> ToInbox | None:
    if not is_older(transfer.block_time, checkout.created_at, named=True):
        return None
    return ToInbox(InboxReason.UNMATCHED, "mined before this checkout was made")


def _crowded(field: _Field) -> Verdict | None:
    return _too_many(field, MOST_CANDIDATES) if field.known.is_crowded else None


def _crowded_near(field: _Field) -> Verdict | None:
    """Return the verdict for a crowd of near prices: none is unique."""
    return _too_many(field, MOST_NEAR) if field.known.is_near_crowd else None


def _too_many(field: _Field, most: int) -> Verdict:
    return ambiguous(
        f"more than {most} checkouts could be meant", [PassedOver(c, "one of too many") for c in field.live]
    )


def _by_round_price(field: _Field) -> Verdict | None:
    """Rules 2 and 3: the round price, or a truncated exact amount, of one live checkout or of interchangeable ones."""
    cut = [c for c in field.live if _is_cut(field, c)]
    if not cut:
        return None
    # Not credited, but possibly meant.
    others = [c for c in field.live if c not in cut and _may_be_meant(field, c)]
    rivals = [c for c in field.rivals if _is_cut(field, c) or _may_be_meant(field, c)]
    if _interchangeable([*cut, *others, *rivals]):
        return _oldest(cut)
    if rivals and field.asks_rivals:
        return undecided("this price", [*cut, *others], rivals)
    verdict = _among_live(field, cut, others, rivals)
    return _beside(rivals, verdict) if verdict.checkout else verdict


def _among_live(
    field: _Field, cut: Sequence[Candidate], others: Sequence[Candidate], rivals: Sequence[Candidate]
) -> Verdict:
    if _interchangeable([*cut, *others]):
        return _oldest(cut)
    if len(cut) > 1 or others:
        return undecided("this price", [*cut, *others], rivals)
    is_round = field.transfer.units == cut[0].price_units
    how = "round price" if is_round else "shortened exact amount"
    return _unless_digits(field, cut[0], short=True) or Verdict(Credit(f"the only live checkout of this {how}"), cut[0])


def _beside(rivals: Sequence[Candidate], verdict: Verdict) -> Verdict:
    """Add the rivals to a credit's verdict, for its notice."""
    passed = [PassedOver(c, f"it had just {_ended(c)} unpaid, at this price") for c in rivals]
    return replace(verdict, passed_over=tuple(passed))


def _is_cut(field: _Field, candidate: Candidate) -> bool:
    units = field.transfer.units
    if units == candidate.price_units:
        return True
    return any(is_cut_of(units, amount) for amount in field.asked(candidate))


def _may_be_meant(field: _Field, candidate: Candidate) -> bool:
    """Return whether its exact amount rounds up to this, or it asked for this before it was partly paid.

    Anyone can change the amount due of a checkout by sending a few cents with its digits. That must not let another
    checkout be credited with its full price.
    """
    units = field.transfer.units
    if any(is_rounded_of(units, amount) for amount in field.asked(candidate)):
        return True
    if not candidate.is_partly_paid:
        return False
    return units == candidate.amount_units or any(
        is_cut_of(units, r.units) or is_rounded_of(units, r.units) for r in field.held(candidate)
    )


def _interchangeable(candidates: Sequence[Candidate]) -> bool:
    """Return whether several have the same customer, product and price, so that any of them may be credited."""
    keys = {(c.customer_ref, c.product_ref, c.price_units) for c in candidates}
    [first, *others] = keys
    return len(candidates) > 1 and not others and bool(first[0]) and bool(first[1])


def _oldest(candidates: Sequence[Candidate]) -> Verdict:
    """Rule 3: the oldest checkout."""
    oldest = min(candidates, key=lambda c: (c.created_at, c.pk))
    reason = "the oldest of checkouts for the same customer, product and price"
    return Verdict(Credit(reason), oldest)


def _by_tolerance(field: _Field) -> Verdict | None:
    """Rule 4: the amount is near the price of exactly one live checkout."""
    units = field.transfer.units
    near = [c for c in field.live if _is_near(units, c.price_units)]
    rivals = [c for c in field.rivals if _is_near(units, c.price_units) or _was_near(units, c)]
    if not near and not rivals:
        return None
    # Checkouts with a near price before they were partly paid.
    others = [c for c in field.live if c not in near and _was_near(units, c)]
    if len(near) != 1 or others or rivals:
        return undecided("about this price", [*near, *others], rivals)
    former = field.known.former
    if former is not None and not _explains(units, field.asked(near[0])):
        return ambiguous(
            "another checkout once had this exact amount",
            [
                PassedOver(former, "its exact amount, which it no longer holds"),
                PassedOver(near[0], "only its price is near"),
            ],
        )
    return _unless_digits(field, near[0]) or Verdict(Credit("the only live checkout of about this price"), near[0])


def _unless_digits(field: _Field, chosen: Candidate, *, short: bool = False) -> Verdict | None:
    """Return a doubtful verdict if the digits below a cent are another checkout's; `short` asks dearer ones only.

    The chosen checkout may have the same digits: two prices can have the same suffix.
    """
    suffix = field.transfer.units % CENT_UNITS
    has_them = _falls_short if short else _has_digits
    others = [
        candidate
        for candidate in (*field.live, *field.rivals)
        if suffix and candidate is not chosen and has_them(field, candidate, suffix)
    ]
    if not others:
        return None
    passed = [PassedOver(c, "it has these digits, but another price") for c in others]
    return ambiguous(
        "one checkout fits, and the digits below a cent are another's",
        [PassedOver(chosen, "it fits, but others have these digits"), *passed],
    )


def _has_digits(field: _Field, candidate: Candidate, suffix: int) -> bool:
    return any(reserved.suffix == suffix for reserved in field.held(candidate))


def _is_near(units: int, price_units: int) -> bool:
    return abs(units - price_units) <= _tolerance_units(price_units)


def _was_near(units: int, candidate: Candidate) -> bool:
    return candidate.is_partly_paid and _is_near(units, candidate.amount_units)


@lru_cache(maxsize=4_096)
def _tolerance_units(price_units: int) -> int:
    return to_units(tolerance(from_units(price_units)))


def _explains(units: int, exact: Sequence[int]) -> bool:
    """Return whether an exact amount, rounded or cut to three to five decimals, is this one."""
    return any(units in (amount - amount % step, -(-amount // step) * step) for amount in exact for step in _EXPLAINED)


def _by_suffix(field: _Field) -> Verdict | None:
    """Rule 5: a round fee was deducted, and the digits below a cent still identify one live checkout."""
    suffix = field.transfer.units % CENT_UNITS
    if not suffix:
        return None
    meant = [c for c in field.live if _falls_short(field, c, suffix)]
    rivals = [c for c in field.rivals if _falls_short(field, c, suffix)]
    if not meant and not rivals:
        return None
    if len(meant) == 1 and not rivals:
        reason = "short of its price, with the digits below a cent of its exact amount"
        return _unless_digits(field, meant[0]) or Verdict(Credit(reason), meant[0])
    return undecided("these digits below a cent", meant, rivals)


def _falls_short(field: _Field, candidate: Candidate, suffix: int) -> bool:
    return any(
        reserved.suffix == suffix
        and field.transfer.units < reserved.price_units - _tolerance_units(reserved.price_units)
        for reserved in field.held(candidate)
    )


def _by_nothing(field: _Field) -> Verdict:
    """Rule 6: no checkout asked for this amount."""
    found = "no checkout that was live then asks for such an amount"
    passed = [PassedOver(c, "its price is another") for c in field.live]
    passed += [PassedOver(c, _why_not_live(field, c)) for c in field.others]
    return Verdict(ToInbox(InboxReason.UNMATCHED, found), None, tuple(passed))


def _why_not_live(field: _Field, candidate: Candidate) -> str:
    if not is_offered(field.transfer, candidate, place="wallet"):
        return "this token was not offered for it here"
    if candidate.is_covered:
        return "it was paid already"
    return "it was not live then"
