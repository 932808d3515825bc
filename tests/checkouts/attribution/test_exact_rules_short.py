"""The contract's rules 5 and 6, line by line: part payments, and amounts that nobody asked for."""

import pytest

from tests.checkouts.rulebook import (
    AMBIGUOUS,
    EXPIRED,
    HIGH,
    MINUTE,
    PRICE,
    UNMATCHED,
    A,
    B,
    Case,
    candidate,
    check,
    check_backwards,
)

SHORT = PRICE - 1_500_000 + 3_700
RULE_5 = [
    Case("5 a round fee was taken out", SHORT, [A, B], 1),
    Case("5 the digits of two higher prices", SHORT, [A, candidate(2, 3_700, price=HIGH)], reason=AMBIGUOUS),
    Case(
        "5 the digits of a lower price too: a person decides",
        SHORT,
        [A, candidate(2, 3_700, price=20_000_000)],
        reason=AMBIGUOUS,
    ),
    Case(
        "5 the digits of one that is paid already are no doubt",
        SHORT,
        [A, candidate(2, 3_700, price=HIGH, seen_units=HIGH)],
        1,
    ),
    Case("5 short of a covered one: nobody's", SHORT, [candidate(1, 3_700, seen_units=PRICE), B], reason=UNMATCHED),
    Case(
        "4 near a covered one and short of another: nobody's",
        201_500_000,
        [candidate(1, 2_700, price=200_000_000, seen_units=200_002_700), candidate(2, 1_300, price=204_000_000)],
        reason=UNMATCHED,
    ),
    Case(
        "4 the digits of a lower price: a person decides",
        PRICE + 103_700,
        [B, candidate(2, 3_700, price=20_000_000)],
        reason=AMBIGUOUS,
    ),
    Case("5 no digits, no name", PRICE - 1_500_000, [A], reason=UNMATCHED),
    Case("5 other digits", SHORT + 1, [A], reason=UNMATCHED),
    Case("5 more than its price", HIGH + 3_700, [A], reason=UNMATCHED),
    Case(
        "5 rival with these digits",
        SHORT,
        [A, candidate(2, 3_700, price=HIGH, ended=5 * MINUTE, **EXPIRED)],
        reason=AMBIGUOUS,
    ),
    Case("5 rival: one with other digits is none", SHORT, [A, candidate(2, 100, ended=5 * MINUTE, **EXPIRED)], 1),
    Case(
        "5 near somebody else's price: rule 4 gives way",
        SHORT,
        [A, candidate(2, 100, price=23_500_000)],
        reason=AMBIGUOUS,
    ),
    Case(
        "5 cut short of somebody else's amount: rule 2 gives way",
        SHORT,
        [A, candidate(2, 3_742, price=23_500_000)],
        reason=AMBIGUOUS,
    ),
    Case(
        "5 near somebody else's price, who has these digits too: rule 1",
        SHORT,
        [A, candidate(2, 3_700, price=23_500_000)],
        2,
    ),
    Case(
        "5 near two other prices: not asked any more",
        SHORT,
        [A, candidate(2, 100, price=23_500_000), candidate(3, 100, price=23_600_000)],
        reason=AMBIGUOUS,
    ),
]

RULE_6 = [
    Case("6 nobody is there", PRICE, [], reason=UNMATCHED),
    Case("6 too many to look at", PRICE, [A], reason=AMBIGUOUS, more={"is_crowded": True}),
]


@pytest.mark.parametrize("case", [*RULE_5, *RULE_6], ids=lambda case: case.line)
def test_each_line_of_the_rules(case):
    check(case)


@pytest.mark.parametrize("case", [*RULE_5, *RULE_6], ids=lambda case: case.line)
def test_the_order_in_which_candidates_come_changes_nothing(case):
    check_backwards(case)
