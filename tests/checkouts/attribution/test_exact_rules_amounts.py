"""The contract's rules 2 to 6, line by line: amounts with somebody's digits, near a price, in part, and that nobody asked for."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checkouts.states import CheckoutStatus
from tests.checkouts.rulebook import (
    AMBIGUOUS,
    COMPLETED,
    EXPIRED,
    HALF_HOUR,
    HIGH,
    MINUTE,
    NEAR,
    OFFERS,
    PRICE,
    SAME,
    SECOND,
    TRANSFER,
    UNDERPAID,
    UNMATCHED,
    A,
    B,
    Case,
    candidate,
    check,
    check_backwards,
    judge,
)
from tests.factories import NOON

LONG = candidate(1, 3_742)
# As a merchant may have it.
CAUTIOUS = {"doubts_round_prices": True}
RULE_2 = [
    Case("2 round price of exactly one", PRICE, [A, candidate(2, price=NEAR)], 1),
    Case("2 cut to 2 decimals is the round price", PRICE, [LONG], 1),
    Case("2 cut to 3 decimals", PRICE + 3_000, [LONG, B], 1),
    Case("2 cut to 4 decimals", PRICE + 3_700, [LONG, B], 1),
    Case("2 cut to 3 decimals of two", PRICE + 3_000, [A, candidate(2, 3_800)], reason=AMBIGUOUS),
    Case("2 cut of one, rounded up of another", PRICE + 4_000, [A, candidate(2, 4_200)], reason=AMBIGUOUS),
    Case(
        "2 round price, one rounded up to it from a cent below",
        PRICE,
        [A, candidate(2, 9_900, price=PRICE - 10_000)],
        1,
    ),
    Case(
        "2 live: made in the same second as the block",
        PRICE,
        [replace(A, created_at=TRANSFER.block_time + timedelta(milliseconds=999))],
        1,
    ),
    Case("2 live: made after the block", PRICE, [replace(A, created_at=TRANSFER.block_time + SECOND), B], 2),
    Case("2 live: within the minute of grace", PRICE, [candidate(1, 3_700, ended=60 * SECOND)], 1),
    Case("2 live: offers the chain", PRICE, [replace(A, offers={"base": OFFERS["base"]}), B], 2),
    Case("2 live: offers the token", PRICE, [A], reason=UNMATCHED, more={"token": "USDC"}),
    Case("2 live: to that wallet", PRICE, [A], reason=UNMATCHED, more={"recipient": "T2"}),
    Case("2 live: not final", PRICE, [candidate(1, 3_700, **COMPLETED), B], 2),
    Case("2 an underpaid one asks for what is missing", 15_000_000, [UNDERPAID, candidate(2, price=NEAR)], 1),
    Case(
        "2 an underpaid one's whole price, which it asked before, may still mean it",
        PRICE,
        [UNDERPAID, B],
        reason=AMBIGUOUS,
    ),
    Case(
        "2 an expired one's too, part of which was paid",
        PRICE,
        [replace(UNDERPAID, expires_at=TRANSFER.block_time - MINUTE, **EXPIRED), B],
        reason=AMBIGUOUS,
        more=CAUTIOUS,
    ),
    Case(
        "2 a shortened exact amount that it was asked for before",
        PRICE + 3_000,
        [UNDERPAID, candidate(2, 3_042)],
        reason=AMBIGUOUS,
    ),
    Case(
        "4 a price near the whole one of an underpaid checkout may still mean it",
        PRICE,
        [UNDERPAID, candidate(2, price=NEAR)],
        reason=AMBIGUOUS,
    ),
    Case(
        "4 an underpaid one's shortened amount is nobody's who is near", PRICE + 3_000, [UNDERPAID, B], reason=AMBIGUOUS
    ),
    Case("2 what is missing is rounded up to a cent", 15_000_000, [replace(UNDERPAID, seen_units=10_003_700)], 1),
    Case(
        "2 a covered one asks for nothing more",
        PRICE,
        [replace(A, status=CheckoutStatus.PROCESSING, seen_units=PRICE)],
        reason=UNMATCHED,
    ),
    Case(
        "2 a covered one casts no doubt on another of its price",
        PRICE,
        [replace(A, status=CheckoutStatus.PROCESSING, seen_units=PRICE - 250_000), B],
        2,
    ),
    Case(
        "2 one short of the tolerance still casts doubt",
        PRICE,
        [replace(UNDERPAID, seen_units=PRICE - 250_001), B],
        reason=AMBIGUOUS,
    ),
    Case(
        "2 a covered one's shortened amount is nobody's",
        PRICE + 3_000,
        [replace(A, seen_units=PRICE), candidate(2, 3_042)],
        2,
    ),
    Case(
        "2 rival: expired unpaid 29 minutes before",
        PRICE,
        [A, candidate(2, 100, ended=29 * MINUTE, **EXPIRED)],
        reason=AMBIGUOUS,
        more=CAUTIOUS,
    ),
    Case("2 rival: a round price asks for none", PRICE, [A, candidate(2, 100, ended=29 * MINUTE, **EXPIRED)], 1),
    Case(
        "2 rival: a round price asks for none that waits for its chain either",
        PRICE,
        [A, candidate(2, 100, ended=5 * MINUTE)],
        1,
    ),
    Case(
        "2 rival: two live ones of a round price stay ambiguous",
        PRICE,
        [A, B, candidate(3, 300, ended=5 * MINUTE, **EXPIRED)],
        reason=AMBIGUOUS,
    ),
    Case("2 rival: 30 minutes before is none", PRICE, [A, candidate(2, 100, ended=HALF_HOUR, **EXPIRED)], 1),
    Case(
        "2 rival: past its time, its chain not yet read",
        PRICE,
        [A, candidate(2, 100, ended=5 * MINUTE)],
        reason=AMBIGUOUS,
        more=CAUTIOUS,
    ),
    Case(
        "2 rival: our outage expired it though the block was in time",
        PRICE,
        [A, candidate(2, 100, **EXPIRED)],
        reason=AMBIGUOUS,
        more=CAUTIOUS,
    ),
    Case("2 rival: one that was paid is none", PRICE, [A, candidate(2, 100, ended=5 * MINUTE, **COMPLETED)], 1),
    Case(
        "2 rival: one that earlier transfers cover is none, past its time and not final",
        PRICE,
        [A, candidate(2, 100, ended=5 * MINUTE, seen_units=PRICE - 250_000)],
        1,
        more=CAUTIOUS,
    ),
    Case(
        "4 rival: nor of a near price", PRICE + 100_000, [A, candidate(2, 100, ended=5 * MINUTE, seen_units=PRICE)], 1
    ),
    Case(
        "2 rival: one of another price is none",
        PRICE,
        [A, candidate(2, 100, price=NEAR, ended=5 * MINUTE, **EXPIRED)],
        1,
    ),
    Case(
        "2 rival: of a shortened amount, cut",
        PRICE + 3_000,
        [A, candidate(2, 3_800, ended=5 * MINUTE, **EXPIRED)],
        reason=AMBIGUOUS,
    ),
    Case(
        "2 rival: of a shortened amount, rounded up",
        PRICE + 3_000,
        [A, candidate(2, 2_900, ended=5 * MINUTE, **EXPIRED)],
        reason=AMBIGUOUS,
    ),
    Case(
        "2 rival: one with other digits is none", PRICE + 3_000, [A, candidate(2, 100, ended=5 * MINUTE, **EXPIRED)], 1
    ),
    Case("2 rival: never credited itself", PRICE, [candidate(2, 100, ended=5 * MINUTE, **EXPIRED)], reason=UNMATCHED),
    Case(
        "2 rival: 0 turns it off",
        PRICE,
        [A, candidate(2, 100, ended=5 * MINUTE, **EXPIRED), candidate(3, **EXPIRED)],
        1,
        more={"rival_span": timedelta(0)},
    ),
]

OLDER = candidate(7, 100, **SAME, created_at=NOON - MINUTE)
YOUNGER = candidate(3, 200, **SAME)
RULE_3 = [
    Case("3 the oldest", PRICE, [YOUNGER, OLDER], 7),
    Case("3 the oldest that still needs money", PRICE, [YOUNGER, replace(OLDER, seen_units=PRICE)], 3),
    Case(
        "3 all covered: nobody",
        PRICE,
        [replace(YOUNGER, seen_units=PRICE), replace(OLDER, seen_units=PRICE)],
        reason=UNMATCHED,
    ),
    Case(
        "3 a covered stranger among them is no doubt", PRICE, [YOUNGER, OLDER, candidate(9, 300, seen_units=PRICE)], 7
    ),
    Case("3 of a shortened amount too", PRICE + 3_000, [candidate(1, 3_700, **SAME), candidate(2, 3_800, **SAME)], 1),
    Case("3 one stranger among them", PRICE, [YOUNGER, OLDER, candidate(9, 300)], reason=AMBIGUOUS),
    Case(
        "3 a rival that is interchangeable does no harm",
        PRICE,
        [YOUNGER, candidate(9, 300, ended=5 * MINUTE, **SAME, **EXPIRED)],
        3,
    ),
    Case(
        "3 a stranger that expired is not asked for",
        PRICE,
        [YOUNGER, OLDER, candidate(9, 300, ended=5 * MINUTE, **EXPIRED)],
        7,
    ),
    Case(
        "3 a rival that is a stranger does",
        PRICE,
        [YOUNGER, OLDER, candidate(9, 300, ended=5 * MINUTE, **EXPIRED)],
        reason=AMBIGUOUS,
        more=CAUTIOUS,
    ),
]

RULE_4 = [
    Case("4 tolerance below, its last unit", PRICE - 250_000, [A], 1),
    Case("4 a unit less", PRICE - 250_001, [A], reason=UNMATCHED),
    Case("4 tolerance above, its last unit", PRICE + 250_000, [A], 1),
    Case("4 a unit more", PRICE + 250_001, [A], reason=UNMATCHED),
    Case("4 five cents at least", 4_950_000, [candidate(1, price=5_000_000)], 1),
    Case("4 near two prices", PRICE + 100_000, [A, candidate(2, price=NEAR)], reason=AMBIGUOUS),
    Case("4 interchangeable ones are not asked here", PRICE - 100_000, [YOUNGER, OLDER], reason=AMBIGUOUS),
    Case(
        "4 rival of the same price", PRICE - 100_000, [A, candidate(2, ended=5 * MINUTE, **EXPIRED)], reason=AMBIGUOUS
    ),
    Case(
        "4 rival of a near price",
        PRICE + 100_000,
        [A, candidate(2, price=NEAR, ended=5 * MINUTE, **EXPIRED)],
        reason=AMBIGUOUS,
    ),
    Case(
        "4 these digits are those of a higher price as well",
        PRICE - 200_000 + 3_700,
        [A, candidate(2, 3_700, price=HIGH)],
        reason=AMBIGUOUS,
    ),
    Case("4 digits of nobody", PRICE + 4_200, [A], 1),
    Case(
        "4 digits somebody else had once",
        PRICE + 4_200,
        [A],
        reason=AMBIGUOUS,
        more={"former": candidate(9, ended=timedelta(days=9), **EXPIRED)},
    ),
    Case(
        "4 digits somebody had once, and rounded ones of its own",
        PRICE + 3_740,
        [candidate(1, 3_742)],
        1,
        more={"former": candidate(9, ended=timedelta(days=9), **EXPIRED)},
    ),
]


def test_each_candidate_of_a_doubtful_case_is_told_with_what_spoke_against_it():
    late = candidate(3, 300, ended=5 * MINUTE, **EXPIRED)
    verdict = judge(PRICE, [A, B, late])
    told = {passed.checkout.pk: passed.why_not for passed in verdict.passed_over}
    assert set(told) == {1, 2, 3}
    assert "expired" in told[3]


def test_where_nobody_asked_for_it_the_near_ones_are_told_all_the_same():
    away = replace(B, offers={"base": OFFERS["base"]})
    verdict = judge(PRICE, [UNDERPAID, away, candidate(3, **COMPLETED)])
    told = {passed.checkout.pk: passed.why_not for passed in verdict.passed_over}
    assert set(told) == {1, 2, 3}
    assert len(set(told.values())) == 3


def test_a_round_price_credited_beside_a_rival_names_it():
    late = candidate(3, 300, ended=5 * MINUTE, **EXPIRED)
    verdict = judge(PRICE, [A, late])
    assert verdict.checkout == A
    [passed] = verdict.passed_over
    assert (passed.checkout, "expired" in passed.why_not) == (late, True)
    assert judge(PRICE, [A]).passed_over == ()


# The contract's rules 5 and 6, line by line: part payments, and amounts that nobody asked for.


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


@pytest.mark.parametrize("case", [*RULE_2, *RULE_3, *RULE_4, *RULE_5, *RULE_6], ids=lambda case: case.line)
def test_each_line_of_the_rules(case):
    check(case)


@pytest.mark.parametrize("case", [*RULE_2, *RULE_3, *RULE_4, *RULE_5, *RULE_6], ids=lambda case: case.line)
def test_the_order_in_which_candidates_come_changes_nothing(case):
    check_backwards(case)
