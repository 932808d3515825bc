"""The verdict, from facts alone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.factories import NOON
from x402.inputs import Proof, Requirements
from x402.rules import OLDEST, ProofCandidate, ProofFacts, ProofVerdict, judge, judge_claims

OURS, PAYER, OTHER = "ours", "payer", "other"
PROOF = Proof("0x5a", "base", "USDC", 500, PAYER, OURS)
WANTED = Requirements("base", "USDC", 500, "a report")
ONE = ProofCandidate(
    tx_hash="0x5a",
    position=0,
    token="USDC",
    token_is_accepted=True,
    units=500,
    sender=PAYER,
    recipient=OURS,
    block_height=10,
    block_time=NOON,
    confirmations=3,
    is_used=False,
)


def told(*candidates: ProofCandidate, **facts: Any) -> ProofVerdict:
    seen_at = facts.pop("seen_at", NOON)
    values: dict[str, Any] = {"pay_to": OURS, "is_known": True, "succeeded": True}
    values |= facts
    known = ProofFacts(candidates=candidates, **values)
    return judge(PROOF, WANTED, known, seen_at=seen_at, block_seconds=2)


def reason(*candidates: ProofCandidate, **facts: Any) -> str:
    return str(told(*candidates, **facts).reason)


def test_what_was_asked_for_and_arrived_pays() -> None:
    assert told(ONE) == ProofVerdict(paid=ONE)
    more = replace(ONE, units=10**30)
    assert told(more).paid == more


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"recipient": OTHER}, "wrong_recipient"),
        ({"token": "USDT"}, "wrong_token"),
        ({"token_is_accepted": False}, "wrong_token"),
        ({"sender": OTHER}, "wrong_payer"),
        ({"sender": ""}, "wrong_payer"),
        ({"units": 499}, "insufficient_amount"),
        ({"is_used": True}, "already_used"),
        ({"confirmations": 2}, "not_confirmed"),
        ({"block_time": NOON - OLDEST - timedelta(seconds=1)}, "too_old"),
    ],
    ids=repr,
)
def test_one_wrong_thing_is_enough(change: dict[str, Any], why: str) -> None:
    assert reason(replace(ONE, **change)) == why


def test_an_hour_is_not_too_old() -> None:
    assert told(replace(ONE, block_time=NOON - OLDEST)).paid


def test_two_halves_are_not_one_payment() -> None:
    halves = [replace(ONE, units=250, position=place) for place in range(2)]
    assert reason(*halves) == "insufficient_amount"


def test_of_several_the_first_unused_one_pays() -> None:
    used = replace(ONE, is_used=True)
    second, third = (replace(ONE, position=place) for place in (1, 2))
    assert told(used, third, second).paid == second


def test_of_what_moved_only_what_reached_us_counts() -> None:
    noise = [
        replace(ONE, recipient=OTHER, position=0),
        replace(ONE, token="USDT", position=1),
        replace(ONE, sender=OTHER, position=2),
        replace(ONE, units=1, position=3),
    ]
    mine = replace(ONE, position=4)
    assert told(*noise, mine).paid == mine


def test_what_moved_nothing_we_know_is_the_wrong_token_or_recipient() -> None:
    assert reason() == "wrong_recipient"
    assert reason(other_movements=True) == "wrong_token"
    stranger = replace(ONE, recipient=OTHER)
    assert reason(stranger, other_movements=True) == "wrong_recipient"


def test_failed_and_unknown_transactions_pay_nothing() -> None:
    assert reason(ONE, succeeded=False) == "failed_transaction"
    unknown = told(ONE, is_known=False)
    assert (unknown.reason, unknown.retry_after) == ("not_found", 5)


def test_whoever_must_wait_is_told_how_long() -> None:
    assert told(replace(ONE, confirmations=1)).retry_after == 5
    assert told(replace(ONE, confirmations=2)).retry_after == 3
    final = told(replace(ONE, sender=OTHER))
    assert final.retry_after is None


@pytest.mark.parametrize(
    ("proof", "wanted", "is_ours", "why"),
    [
        ({}, {"chain": "polygon"}, True, "wrong_chain"),
        ({}, {"token": "USDT"}, True, "requirements_mismatch"),
        ({}, {}, False, "wrong_recipient"),
        ({"units": 499}, {}, True, "insufficient_amount"),
    ],
    ids=["chain", "token", "recipient", "amount"],
)
def test_what_contradicts_itself_needs_no_chain(
    proof: dict[str, Any], wanted: dict[str, Any], is_ours: bool, why: str
) -> None:
    verdict = judge_claims(replace(PROOF, **proof), replace(WANTED, **wanted), is_paid_there=is_ours)
    assert verdict is not None
    assert verdict.reason == why
    assert judge_claims(PROOF, WANTED, is_paid_there=True) is None
