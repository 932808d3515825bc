"""The rows in which the attribution rules are tested: a line, what arrives, who is around, what becomes of it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from checkouts.attribution.deposit_rules import Credit, ToInbox, TransferFacts
from checkouts.attribution.exact_rules import Candidate, Known, Reserved, Verdict, decide_exact
from checkouts.states import CheckoutStatus, InboxReason
from tests.factories import NOON

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
HALF_HOUR = 30 * MINUTE
PRICE, NEAR, HIGH = 25_000_000, 25_200_000, 40_000_000
OFFERS: dict[str, Any] = {
    "tron": {"tokens": ["USDT"], "address": None, "wallet": "T1"},
    "ethereum": {"tokens": ["USDC", "USDT"], "address": None, "wallet": "0x1"},
    "base": {"tokens": ["USDC"], "address": "0xA"},
}
TRANSFER = TransferFacts(
    chain="tron", token="USDT", accepted=True, units=PRICE, block_time=NOON + 10 * MINUTE, recipient="T1"
)
SAME: dict[str, Any] = {"customer_ref": "ada", "product_ref": "beans|1kg"}
EXPIRED: dict[str, Any] = {"status": CheckoutStatus.EXPIRED}
COMPLETED: dict[str, Any] = {"status": CheckoutStatus.COMPLETED}


def candidate(
    pk: int, suffix: int | None = None, *, price: int = PRICE, ended: timedelta | None = None, **changes: Any
) -> Candidate:
    """A live checkout of 25 USD made at noon; `ended` is for how long it has been over."""
    expires_at = NOON + HALF_HOUR if ended is None else TRANSFER.block_time - ended
    created_at = min(NOON, expires_at - HALF_HOUR)
    reserved = () if suffix is None else (Reserved(price, suffix, created_at),)
    facts: dict[str, Any] = {
        "pk": pk,
        "public_id": f"chk_{pk}",
        "status": CheckoutStatus.PENDING,
        "offers": OFFERS,
        "amount_units": price,
        "seen_units": 0,
        "created_at": created_at,
        "expires_at": expires_at,
        "customer_ref": "",
        "product_ref": "",
        "reserved": reserved,
    }
    return Candidate(**(facts | changes))


def judge(
    units: int = PRICE,
    around: Sequence[Candidate] = (),
    *,
    labelled: Sequence[Candidate] = (),
    former: Candidate | None = None,
    is_crowded: bool = False,
    is_near_crowd: bool = False,
    rival_span: timedelta = HALF_HOUR,
    doubts_round_prices: bool = False,
    **changes: Any,
) -> Verdict:
    """What becomes of a transfer of so many units with these checkouts around."""
    transfer = replace(TRANSFER, units=units, **changes)
    known = Known(labelled, around, former, is_crowded, is_near_crowd)
    return decide_exact(transfer, known, rival_span=rival_span, doubts_round_prices=doubts_round_prices)


class Case(NamedTuple):
    """A line of the rules. `paid` is the checkout credited; `reason` why the transfer waits, `belongs` where."""

    line: str
    units: int
    around: list[Candidate]
    paid: int | None = None
    reason: InboxReason | None = None
    belongs: int | None = None
    more: dict[str, Any] = {}


A, B = candidate(1, 3_700), candidate(2, 100)
UNDERPAID = candidate(1, 3_700, status=CheckoutStatus.UNDERPAID, seen_units=10_000_000)
TOPPED = replace(UNDERPAID, reserved=(*UNDERPAID.reserved, Reserved(15_000_000, 4_200, NOON)))
AMBIGUOUS, UNMATCHED = InboxReason.AMBIGUOUS, InboxReason.UNMATCHED


def check(case: Case) -> None:
    """Fail unless the transfer goes where the line says, with words that fit their columns."""
    verdict = judge(case.units, case.around, **case.more)
    if case.paid is not None:
        assert isinstance(verdict.decision, Credit), verdict
        assert verdict.checkout is not None
        assert verdict.checkout.pk == case.paid
        assert 0 < len(verdict.decision.reason) <= 200
        return
    assert isinstance(verdict.decision, ToInbox), verdict
    assert verdict.decision.reason == case.reason
    assert (verdict.checkout.pk if verdict.checkout else None) == case.belongs
    assert 0 < len(verdict.decision.explanation) <= 300


def check_backwards(case: Case) -> None:
    """Fail if the order in which candidates come changes anything."""
    there = judge(case.units, case.around, **case.more)
    back = judge(case.units, case.around[::-1], **case.more)
    assert there.decision == back.decision
    assert (there.checkout and there.checkout.pk) == (back.checkout and back.checkout.pk)
