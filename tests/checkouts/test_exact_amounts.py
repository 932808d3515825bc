"""Which suffix is handed out next, and the arithmetic around it."""

import secrets
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts.exact_amounts import CAPACITY, best_free, exact_units, memo_of, price_of
from gateway.core.money import to_units

ROUND = set(range(100, 10_000, 100))
THOUSANDS = set(range(1_000, 10_000, 1_000))
VANISHING = set(range(1, 50))
EVERY = set(range(1, 10_000))
some_taken = st.sets(st.integers(1, CAPACITY), max_size=300)


def block(suffix: int) -> int:
    return suffix // 100


def test_the_first_ones_are_the_ninety_nine_that_survive_four_decimals() -> None:
    first = set(best_free([]))
    assert first == ROUND - THOUSANDS
    assert set(best_free(first)) == THOUSANDS
    assert len(ROUND) == 99


@given(some_taken)
def test_a_free_round_one_always_comes_first(taken: set[int]) -> None:
    free = set(best_free(taken))
    assert free == (ROUND - THOUSANDS) - taken or taken >= ROUND - THOUSANDS


@given(some_taken)
def test_then_come_those_that_vanish_when_cut_or_rounded(extra: set[int]) -> None:
    taken = ROUND | extra
    left = VANISHING - taken
    assert set(best_free(taken)) == left or not left
    assert {round(suffix / 100) for suffix in VANISHING} == {0}


@given(some_taken)
def test_then_come_blocks_with_the_fewest_reservations(extra: set[int]) -> None:
    taken = ROUND | VANISHING | extra
    crowd = [sum(1 for suffix in taken if block(suffix) == b) for b in range(100)]
    free = EVERY - taken
    fewest = min(crowd[block(suffix)] for suffix in free)
    assert set(best_free(taken)) == {s for s in free if crowd[block(s)] == fewest}


@given(st.sets(st.integers(1, CAPACITY), min_size=1, max_size=50))
def test_at_last_any_free_value_is_found(left: set[int]) -> None:
    offered = set(best_free(EVERY - left))
    assert offered
    assert offered <= left


def test_drawing_to_the_end_gives_every_suffix_once() -> None:
    taken: set[int] = set()
    while free := best_free(taken):
        # A whole tier at once: each of it is as good as any other.
        assert not taken & set(free)
        taken |= set(free)
    assert taken == EVERY
    assert len(taken) == CAPACITY == 9_999


def test_none_is_left_when_all_are_taken() -> None:
    assert best_free(EVERY) == []


@pytest.mark.parametrize(
    ("units", "price"),
    [
        (25_000_000, "25.00"),
        (24_990_001, "25.00"),
        (24_990_000, "24.99"),
        (1, "0.01"),
        (0, "0.00"),
        (999_999_999_999, "1000000.00"),
    ],
)
def test_what_is_due_is_rounded_up_to_a_cent(units: int, price: str) -> None:
    assert price_of(units) == Decimal(price)


@given(st.integers(1, 10**8), st.integers(1, CAPACITY), st.integers(1, 10**8), st.data())
def test_amounts_of_two_prices_never_meet(cents: int, suffix: int, other_cents: int, data: st.DataObject) -> None:
    other_suffix = data.draw(st.integers(1, CAPACITY))
    price, other = (Decimal(c) / 100 for c in (cents, other_cents))
    units = exact_units(price, suffix)
    assert to_units(price) < units < to_units(price) + 10_000
    assert (units == exact_units(other, other_suffix)) == ((price, suffix) == (other, other_suffix))


def test_a_memo_is_the_first_ten_bytes_for_people() -> None:
    assert memo_of(bytes(32)) == "0" * 16
    assert memo_of(b"\xff" * 32) == "z" * 16
    # Crockford's digits, most significant first: 00000 00001 00000 ...
    assert memo_of(bytes.fromhex("00440000000000000001") + bytes(22)) == ("0120000000000001")


def test_memos_have_sixteen_characters_that_nobody_confuses() -> None:
    memos = {memo_of(secrets.token_bytes(32)) for _ in range(100)}
    assert len(memos) == 100
    assert {len(memo) for memo in memos} == {16}
    assert not set("".join(memos)) & set("ilouILOU -")
