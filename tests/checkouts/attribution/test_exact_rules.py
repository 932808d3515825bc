"""Rule 7 of the specification, and the contract's first rule, line by line: who is named. And what a crowd does to the rules."""

from dataclasses import replace

import pytest

from checkouts.attribution.deposit_rules import ToInbox
from checkouts.attribution.exact_rules import MOST_CANDIDATES, Reserved
from checkouts.states import InboxReason
from tests.checkouts.rulebook import (
    AMBIGUOUS,
    COMPLETED,
    EXPIRED,
    HIGH,
    MINUTE,
    OFFERS,
    PRICE,
    SAME,
    SECOND,
    TOPPED,
    TRANSFER,
    UNMATCHED,
    A,
    B,
    Case,
    candidate,
    check,
    check_backwards,
    judge,
)

SPECIFICATION = [
    Case("one live checkout and its round price: credited", PRICE, [A], 1),
    Case("several live ones at the price: uncredited", PRICE, [A, B], reason=AMBIGUOUS),
    Case(
        "unless both references are present: any one of them",
        PRICE,
        [candidate(1, 3_700, **SAME), candidate(2, 100, **SAME)],
        1,
    ),
    Case("a customer alone is not enough", PRICE, [candidate(n, customer_ref="ada") for n in (1, 2)], reason=AMBIGUOUS),
    Case(
        "a product alone is not enough",
        PRICE,
        [candidate(n, product_ref="beans|1kg") for n in (1, 2)],
        reason=AMBIGUOUS,
    ),
    Case(
        "another customer is not interchangeable",
        PRICE,
        [candidate(1, **SAME), candidate(2, **(SAME | {"customer_ref": "eve"}))],
        reason=AMBIGUOUS,
    ),
    Case(
        "another variant is not interchangeable",
        PRICE,
        [candidate(1, **SAME), candidate(2, **(SAME | {"product_ref": "beans|2kg"}))],
        reason=AMBIGUOUS,
    ),
    Case("another price is not asked at all", PRICE, [A, candidate(2, 100, price=HIGH)], 1),
]

RULE_1 = [
    Case("1 exact amount of a live one", PRICE + 3_700, [A, B], 1),
    Case(
        "1 exact amount of a cooling one: late",
        PRICE + 3_700,
        [candidate(1, 3_700, ended=90 * MINUTE, **EXPIRED), B],
        reason=InboxReason.LATE,
        belongs=1,
    ),
    Case(
        "1 exact amount of a paid one: extra",
        PRICE + 3_700,
        [candidate(1, 3_700, **COMPLETED), B],
        reason=InboxReason.EXTRA,
        belongs=1,
    ),
    Case(
        "1 exact amount of one that earlier transfers cover: extra",
        PRICE + 3_700,
        [candidate(1, 3_700, seen_units=PRICE - 250_000), B],
        reason=InboxReason.EXTRA,
        belongs=1,
    ),
    Case(
        "1 reference of one that earlier transfers cover: extra",
        HIGH,
        [candidate(2, 100, price=HIGH)],
        reason=InboxReason.EXTRA,
        belongs=1,
        more={"labelled": [candidate(1, 3_700, seen_units=PRICE)]},
    ),
    Case(
        "1 exact amount in time, read after we gave up: our outage",
        PRICE + 3_700,
        [candidate(1, 3_700, **EXPIRED)],
        reason=InboxReason.LATE_OUTAGE,
        belongs=1,
    ),
    Case("1 exact amount within the minute of grace", PRICE + 3_700, [candidate(1, 3_700, ended=60 * SECOND)], 1),
    Case(
        "1 exact amount after the minute of grace",
        PRICE + 3_700,
        [candidate(1, 3_700, ended=61 * SECOND)],
        reason=InboxReason.LATE,
        belongs=1,
    ),
    Case(
        "1 exact amount on a chain not offered",
        PRICE + 3_700,
        [candidate(1, 3_700, offers={"solana": OFFERS["tron"]})],
        reason=InboxReason.WRONG_NETWORK,
        belongs=1,
    ),
    Case(
        "1 exact amount in a token not offered",
        PRICE + 3_700,
        [A],
        reason=InboxReason.WRONG_NETWORK,
        belongs=1,
        more={"token": "USDC"},
    ),
    Case(
        "1 exact amount to a wallet it does not name",
        PRICE + 3_700,
        [A],
        reason=InboxReason.WRONG_NETWORK,
        belongs=1,
        more={"recipient": "T2"},
    ),
    Case(
        "1 exact amount reserved only after the block",
        PRICE + 3_700,
        [replace(A, reserved=(Reserved(PRICE, 3_700, TRANSFER.block_time + 2 * MINUTE),)), B],
        reason=AMBIGUOUS,
    ),
    Case("1 an underpaid one's first exact amount still names it", PRICE + 3_700, [TOPPED], 1),
    Case("1 an underpaid one's fresh exact amount names it", 15_004_200, [TOPPED, B], 1),
    Case("1 reference, whatever the amount", HIGH, [], 1, more={"labelled": [A]}),
    Case("1 reference and exact amount agree", PRICE + 3_700, [A], 1, more={"labelled": [A]}),
    Case(
        "1 reference of a late one: no rule after it is asked",
        PRICE,
        [B],
        reason=InboxReason.LATE,
        belongs=1,
        more={"labelled": [candidate(1, ended=2 * MINUTE, **EXPIRED)]},
    ),
    Case("1 reference against exact amount", PRICE + 100, [B], reason=AMBIGUOUS, more={"labelled": [A]}),
    Case("1 references of two", PRICE, [], reason=AMBIGUOUS, more={"labelled": [A, B]}),
    Case("1 references of two, and the exact amount of one", PRICE + 100, [B], 2, more={"labelled": [A, B]}),
    Case(
        "1 reference of one that was yet to be made",
        PRICE,
        [],
        reason=UNMATCHED,
        belongs=1,
        more={"labelled": [replace(A, created_at=TRANSFER.block_time + 61 * SECOND)]},
    ),
    Case(
        "1 reference where clocks differ",
        PRICE,
        [],
        1,
        more={"labelled": [replace(A, created_at=TRANSFER.block_time + 60 * SECOND)]},
    ),
    Case("dust, whatever it names", 9_999, [], reason=InboxReason.DUST, more={"labelled": [A]}),
    Case(
        "another token is for a person, beside the checkout that it names",
        PRICE + 3_700,
        [A],
        reason=InboxReason.WRONG_TOKEN,
        belongs=1,
        more={"accepted": False, "token": "DAI", "labelled": [A]},
    ),
    Case(
        "another token beside the checkout of its price",
        PRICE,
        [A],
        reason=InboxReason.WRONG_TOKEN,
        belongs=1,
        more={"accepted": False, "token": "DAI"},
    ),
    Case(
        "another token that nothing asks for",
        PRICE,
        [],
        reason=InboxReason.WRONG_TOKEN,
        more={"accepted": False, "token": "DAI"},
    ),
]


@pytest.mark.parametrize("case", [*SPECIFICATION, *RULE_1], ids=lambda case: case.line)
def test_each_line_of_the_rules(case):
    check(case)


@pytest.mark.parametrize("case", [*SPECIFICATION, *RULE_1], ids=lambda case: case.line)
def test_the_order_in_which_candidates_come_changes_nothing(case):
    check_backwards(case)


def test_where_more_might_be_meant_than_are_looked_at_nobody_is_credited():
    verdict = judge(PRICE, [A], is_crowded=True)
    assert verdict.decision == ToInbox(AMBIGUOUS, f"more than {MOST_CANDIDATES} checkouts could be meant")
    assert [passed.checkout for passed in verdict.passed_over] == [A]


def test_a_crowd_near_by_is_no_doubt_for_the_only_one_of_a_price():
    assert judge(PRICE, [A], is_near_crowd=True).checkout == A
    near = judge(PRICE + 100_000, [A], is_near_crowd=True)
    assert isinstance(near.decision, ToInbox)


def test_a_crowd_takes_no_exact_amount_from_its_holder():
    verdict = judge(PRICE + 3_700, [A], is_crowded=True, is_near_crowd=True)
    assert verdict.checkout == A
