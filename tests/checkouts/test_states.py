import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts.states import FINAL, LIVE, MOVES, CheckoutStatus, Received, derive_status

PENDING = CheckoutStatus.PENDING
PROCESSING = CheckoutStatus.PROCESSING
UNDERPAID = CheckoutStatus.UNDERPAID
COMPLETED = CheckoutStatus.COMPLETED
EXPIRED = CheckoutStatus.EXPIRED

NEEDED = 100
units = st.integers(0, 2 * NEEDED)
sums = st.builds(lambda confirmed, more: Received(seen=confirmed + more, confirmed=confirmed), units, units)


def test_the_moves_are_those_of_the_contract():
    assert {
        PENDING: {PROCESSING, UNDERPAID, COMPLETED, EXPIRED},
        PROCESSING: {PENDING, UNDERPAID, COMPLETED},
        UNDERPAID: {PENDING, PROCESSING, COMPLETED, EXPIRED},
        COMPLETED: set(),
        EXPIRED: set(),
    } == MOVES


def test_every_status_is_either_live_or_final():
    assert {COMPLETED, EXPIRED} == FINAL
    assert {PENDING, PROCESSING, UNDERPAID} == LIVE


@pytest.mark.parametrize(
    ("current", "seen", "confirmed", "expected"),
    [
        (PENDING, 0, 0, PENDING),
        (PENDING, 99, 0, PENDING),
        (PENDING, 100, 0, PROCESSING),
        (PENDING, 100, 99, PROCESSING),
        (PENDING, 99, 99, UNDERPAID),
        (PENDING, 99, 50, PENDING),
        (PENDING, 100, 100, COMPLETED),
        (PENDING, 500, 100, COMPLETED),
        (UNDERPAID, 50, 50, UNDERPAID),
        (UNDERPAID, 99, 50, UNDERPAID),
        (UNDERPAID, 100, 50, PROCESSING),
        (UNDERPAID, 100, 100, COMPLETED),
        (PROCESSING, 100, 100, COMPLETED),
        (PROCESSING, 99, 99, UNDERPAID),
    ],
)
def test_money_moves_a_checkout_forward(current, seen, confirmed, expected):
    received = Received(seen=seen, confirmed=confirmed)
    assert derive_status(current, received, needed_units=NEEDED) == expected


@pytest.mark.parametrize(
    ("current", "seen", "confirmed", "expected"),
    [
        (PROCESSING, 0, 0, PENDING),
        (PROCESSING, 50, 0, PENDING),
        (PROCESSING, 50, 50, UNDERPAID),
        (UNDERPAID, 0, 0, PENDING),
        (UNDERPAID, 50, 0, PENDING),
        (UNDERPAID, 20, 20, UNDERPAID),
    ],
)
def test_a_reorganisation_moves_a_checkout_back(current, seen, confirmed, expected):
    received = Received(seen=seen, confirmed=confirmed)
    assert derive_status(current, received, needed_units=NEEDED) == expected


@pytest.mark.parametrize(("seen", "expected"), [(60, UNDERPAID), (99, UNDERPAID), (100, PROCESSING)])
def test_underpaid_falls_back_to_pending_for_no_second_node(seen, expected):
    received = Received(seen=seen, confirmed=0, waiting=60)
    assert derive_status(UNDERPAID, received, needed_units=NEEDED) == expected
    assert derive_status(PENDING, received, needed_units=NEEDED) in (PENDING, expected)


@given(st.sampled_from(sorted(FINAL)), sums)
def test_no_facts_move_a_final_status(current, received):
    assert derive_status(current, received, needed_units=NEEDED) == current


@given(st.sampled_from(sorted(LIVE)), sums)
def test_whatever_the_facts_the_move_is_allowed_and_never_expires(current, received):
    status = derive_status(current, received, needed_units=NEEDED)
    assert status == current or status in MOVES[current]
    assert status != EXPIRED


@given(st.sampled_from(sorted(LIVE)), sums)
def test_deriving_twice_changes_nothing_more(current, received):
    once = derive_status(current, received, needed_units=NEEDED)
    assert derive_status(once, received, needed_units=NEEDED) == once
