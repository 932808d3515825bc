"""Somebody who knows every way in which buyers pay, and reads nothing but the transfer's own facts: the most that can be known.

It shares no code with the rules it is held against.
"""

from collections.abc import Iterable
from datetime import timedelta
from enum import IntEnum
from typing import Final

from checkouts.attribution.deposit_rules import TransferFacts
from checkouts.attribution.evidence import Candidate, Reserved

GRACE: Final = timedelta(seconds=60)
SPAN: Final = timedelta(minutes=30)


class Evidence(IntEnum):
    """How strongly an amount speaks for a checkout."""

    NONE = 0
    PRICE = 1
    ROUND = 2
    DIGITS = 3
    EXACT = 4


def evidence(transfer: TransferFacts, checkout: Candidate) -> Evidence:
    """Return how strongly the amount speaks for the checkout, whatever the time."""
    grades = [_by_digits(transfer.units, one) for one in checkout.reserved]
    tolerance = max(checkout.price_units // 100, 50_000)
    if transfer.units == checkout.price_units:
        grades.append(Evidence.ROUND)
    elif abs(transfer.units - checkout.price_units) <= tolerance:
        grades.append(Evidence.PRICE)
    return max(grades, default=Evidence.NONE)


def _by_digits(units: int, reserved: Reserved) -> Evidence:
    if units == reserved.units:
        return Evidence.EXACT
    digits = units % 10_000
    if not digits:
        up = -(-reserved.units // 10_000) * 10_000
        return Evidence.PRICE if units == up else Evidence.NONE
    shown = {
        side for step in (100, 1_000) for side in (reserved.units // step * step, -(-reserved.units // step) * step)
    }
    is_short = digits == reserved.suffix and units < reserved.price_units
    return Evidence.DIGITS if units in shown or is_short else Evidence.NONE


def may_be_paid(transfer: TransferFacts, checkout: Candidate) -> bool:
    """Whether the checkout could be credited: offered here, not over, and in time."""
    offer = checkout.offers.get(transfer.chain)
    return (
        offer is not None
        and checkout.status not in {"completed", "expired"}
        and checkout.created_at <= transfer.block_time + timedelta(seconds=1)
        and transfer.block_time <= checkout.expires_at + GRACE
    )


def may_be_meant(transfer: TransferFacts, checkout: Candidate) -> bool:
    """Whether a reader must reckon with the checkout: it may be paid, or its buyer may be a little late."""
    is_over_lately = (
        checkout.status != "completed"
        and checkout.expires_at - SPAN * 2 <= transfer.block_time
        and transfer.block_time < checkout.expires_at + SPAN
        and transfer.chain in checkout.offers
    )
    return may_be_paid(transfer, checkout) or is_over_lately


def readable(transfer: TransferFacts, around: Iterable[Candidate]) -> set[int]:
    """Return the checkouts of which any is right to credit, as far as facts can tell; none where they cannot."""
    graded = [(evidence(transfer, checkout), checkout) for checkout in around if may_be_meant(transfer, checkout)]
    best = max((grade for grade, _ in graded), default=Evidence.NONE)
    if best is Evidence.NONE:
        return set()
    likeliest = [checkout for grade, checkout in graded if grade is best]
    kinds = {_kind(checkout) for checkout in likeliest}
    if len(kinds) > 1:
        return set()
    return {c.pk for c in likeliest if may_be_paid(transfer, c)}


def _kind(checkout: Candidate) -> tuple[object, ...]:
    """Checkouts of one kind are interchangeable; without both references each is a kind of its own."""
    if checkout.customer_ref and checkout.product_ref:
        return checkout.customer_ref, checkout.product_ref, checkout.price_units
    return (checkout.pk,)


def are_interchangeable(one: Candidate, other: Candidate) -> bool:
    """Whether crediting either is right (the specification's rule 7)."""
    return one.pk == other.pk or _kind(one)[:2] == _kind(other)[:2] != ("", "")
