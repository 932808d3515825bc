"""Which payout an outflow pays: each rule, and that no order of sends calls too many or too few paid."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from payouts.outflows import matching
from payouts.outflows.matching import Match, MatchKind, Outflow, PayoutCandidate, match
from tests.exhaustive import sample
from tests.factories import NOON

SECOND = timedelta(seconds=1)
PAYS, PAID_TWICE, WRONG_AMOUNT, NOTHING = MatchKind


def payout(pk: int = 1, **overrides: Any) -> PayoutCandidate:
    """5 USDC to Ann on Base, approved."""
    values: dict[str, Any] = {
        "chain": "base",
        "token": "USDC",
        "recipient": "ann",
        "units": 5,
        "created_at": NOON + pk * SECOND,
        "is_waiting": True,
    }
    return PayoutCandidate(pk=pk, **(values | overrides))


def outflow(**overrides: Any) -> Outflow:
    """5 USDC that went to Ann a minute after noon."""
    values: dict[str, Any] = {
        "chain": "base",
        "token": "USDC",
        "recipient": "ann",
        "units": 5,
        "block_time": NOON + 60 * SECOND,
    }
    return Outflow(**(values | overrides))


def told(found: Match) -> tuple[MatchKind, int | None]:
    return found.verdict, found.payout.pk if found.payout else None


def test_an_outflow_pays_the_payout_that_waits_for_it() -> None:
    assert told(match(outflow(), [payout(1, recipient="bob"), payout(2)])) == (PAYS, 2)


@pytest.mark.parametrize(
    "other", [{"chain": "polygon"}, {"token": "USDT"}, {"recipient": "bob"}], ids=["chain", "token", "recipient"]
)
def test_another_chain_token_or_recipient_is_no_business_of_a_payout(other: dict[str, str]) -> None:
    for one in (payout(), payout(is_waiting=False), payout(units=7)):
        assert told(match(outflow(**other), [one])) == (NOTHING, None)


@pytest.mark.parametrize("some", [{}, {"is_waiting": False}, {"units": 7}], ids=["waits", "paid", "other units"])
def test_what_left_before_a_payout_was_made_is_not_its_own(some: dict[str, Any]) -> None:
    one = payout(created_at=NOON, **some)
    assert told(match(outflow(block_time=NOON - 60 * SECOND), [one]))[1] == 1
    assert told(match(outflow(block_time=NOON - 61 * SECOND), [one])) == (NOTHING, None)


def test_of_twins_the_named_one_is_paid_else_the_paying_wallets_own_else_the_oldest() -> None:
    twins = [payout(1), payout(2, wallet_id=9), payout(3, names=frozenset({"ref-3"})), payout(4, wallet_id=8)]
    assert told(match(outflow(wallet_id=9, names=frozenset({"hash", "ref-3"})), twins)) == (PAYS, 3)
    assert told(match(outflow(wallet_id=9, names=frozenset({"hash"})), twins)) == (PAYS, 2)
    assert told(match(outflow(wallet_id=7), twins[::-1])) == (PAYS, 1)
    assert told(match(outflow(), twins)) == (PAYS, 1)


def test_a_name_does_not_make_a_payout_fit() -> None:
    """Names are public once they were sent: anybody's transaction may carry them."""
    named = payout(1, units=7, names=frozenset({"ref-1"}))
    assert told(match(outflow(names=frozenset({"ref-1"})), [named, payout(2)])) == (PAYS, 2)
    assert told(match(outflow(names=frozenset({"ref-1"})), [named])) == (WRONG_AMOUNT, 1)


def test_a_second_send_is_told_before_another_payouts_wrong_amount() -> None:
    assert told(match(outflow(), [payout(1, is_waiting=False), payout(2, units=7)])) == (PAID_TWICE, 1)


def test_a_second_send_of_one_of_two_twins_pays_the_other_and_the_third_is_reported() -> None:
    first, second = payout(1, is_waiting=False), payout(2)
    assert told(match(outflow(), [first, second])) == (PAYS, 2)
    assert told(match(outflow(), [first, replace(second, is_waiting=False)])) == (PAID_TWICE, 1)
    assert told(match(outflow(), [replace(first, was_paid_twice=True), replace(second, is_waiting=False)])) == (
        PAID_TWICE,
        2,
    )


def test_one_whose_outflow_is_gone_is_paid_again_before_another_is_paid_twice() -> None:
    first, gone = payout(1, is_waiting=False), payout(2, is_waiting=False, was_reversed=True)
    assert told(match(outflow(), [first, gone])) == (PAID_TWICE, 2)
    # What names the other is its own.
    named = replace(first, names=frozenset({"ref-1"}))
    assert told(match(outflow(names=frozenset({"ref-1"})), [named, gone])) == (PAID_TWICE, 1)


def test_other_units_to_a_recipient_are_told_and_pay_nothing() -> None:
    assert told(match(outflow(units=4), [payout(1), payout(2, is_waiting=False, units=7)])) == (WRONG_AMOUNT, 1)


def test_of_a_wallet_that_is_not_watched_only_a_named_transaction_counts() -> None:
    named = payout(2, names=frozenset({"0xab"}))
    strangers = outflow(must_be_named=True, names=frozenset({"0xcd"}))
    assert told(match(strangers, [payout(1), named])) == (NOTHING, None)
    assert told(match(replace(strangers, names=frozenset({"0xab"})), [payout(1), named])) == (PAYS, 2)


@dataclass(slots=True)
class Books:
    """Payouts of one merchant, and what became of each outflow."""

    payouts: list[PayoutCandidate]

    def see(self, seen: Outflow) -> MatchKind:
        """As the consumer of movements does."""
        found = match(seen, self.payouts)
        if found.payout is not None and found.verdict is PAYS:
            assert found.payout.is_waiting
            self._replace(replace(found.payout, is_waiting=False))
        if found.payout is not None and found.verdict is PAID_TWICE:
            self._replace(replace(found.payout, was_paid_twice=True))
        return found.verdict

    def _replace(self, new: PayoutCandidate) -> None:
        self.payouts = [new if one.pk == new.pk else one for one in self.payouts]


def violations(random: Random) -> Counter[str]:
    """Send random payouts, some of them twice or with other units, in any order; return the broken rules."""
    due = [
        payout(
            pk,
            recipient=random.choice("ABC"),
            units=random.choice([5, 5, 7]),
            created_at=NOON + random.randrange(50) * SECOND,
            wallet_id=random.choice([None, 1]),
            names=random.choice([frozenset(), frozenset({f"ref-{pk}"})]),
        )
        for pk in range(random.randint(1, 7))
    ]
    sent = [outflow(recipient=one.recipient, units=one.units, names=one.names, wallet_id=1) for one in due]
    sent += random.sample(sent, random.randint(0, len(sent) // 2))
    if random.random() < 0.3:
        one = random.choice(sent)
        sent.append(replace(one, units=one.units - 1))
    random.shuffle(sent)
    books, verdicts = Books(due), Counter[tuple[str, int, MatchKind]]()
    for number, one in enumerate(sent):
        names = one.names if random.random() < 0.5 else frozenset[str]()
        seen = replace(one, names=names, block_time=NOON + (100 + number) * SECOND)
        verdicts[seen.recipient, seen.units, books.see(seen)] += 1
    wanted = Counter((one.recipient, one.units) for one in due)
    broken = Counter[str]()
    for (recipient, units), times in Counter((one.recipient, one.units) for one in sent).items():
        paid = verdicts[recipient, units, PAYS]
        fitting = min(times, wanted[recipient, units])
        broken["too many or too few are paid"] += paid != fitting
        is_due = wanted[recipient, units] > 0
        reported = verdicts[recipient, units, PAID_TWICE]
        broken["a surplus is not reported"] += is_due and reported != times - fitting
    return broken


SEEDS = sample(range(400), 40)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_any_order_as_many_are_paid_as_were_sent_and_due_and_the_surplus_is_reported(seed: int) -> None:
    broken: Counter[str] = sum((violations(Random(f"{seed}/{run}")) for run in range(50)), Counter())
    assert +broken == Counter()


def test_without_rule_3_first_a_second_send_would_be_offered_as_a_wrong_amount(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    pays, twice, near = matching.RULES
    monkeypatch.setattr(matching, "RULES", (pays, near, twice))
    broken: Counter[str] = sum((violations(Random(f"0/{run}")) for run in range(500)), Counter())
    assert broken["a surplus is not reported"] > 0
    assert broken["too many or too few are paid"] == 0
