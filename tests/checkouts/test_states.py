"""The pure rules of checkouts: statuses and their moves, prices, exact amounts, what makes creation idempotent, scenarios."""

import secrets
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts.amounts import (
    CAPACITY,
    DUST_UNITS,
    MAX_AMOUNT,
    MIN_AMOUNT,
    best_free,
    exact_units,
    memo_of,
    needed_units,
    overpaid_above_units,
    price_of,
    tolerance,
)
from checkouts.inputs import NewCheckout
from checkouts.scenarios import SHARES, TICK, ScenarioStep, StepKind, amount_of, steps_of
from checkouts.states import FINAL, LIVE, MOVES, CheckoutStatus, Received, derive_status
from checkouts.states import TestScenario as Scenario
from checkouts.templatetags.humane import short_money
from gateway.core.currencies import usd_at
from gateway.core.money import to_units
from tests.factories import NOON

pytestmark = pytest.mark.django_db


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


prices = st.decimals(MIN_AMOUNT, MAX_AMOUNT, places=2)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        ("0.10", "0.05"),
        ("4.99", "0.05"),
        ("5.00", "0.05"),
        ("5.01", "0.0501"),
        ("25.00", "0.25"),
        ("100.01", "1.0001"),
        ("1000000.00", "10000"),
    ],
)
def test_the_tolerance_is_one_percent_and_never_less_than_five_cents(amount, expected):
    assert tolerance(Decimal(amount)) == Decimal(expected)


@pytest.mark.parametrize(
    ("amount", "needed", "overpaid_above"),
    [
        ("0.10", 50_000, 150_000),
        ("5.00", 4_950_000, 5_050_000),
        ("5.01", 4_959_900, 5_060_100),
        ("25.00", 24_750_000, 25_250_000),
        ("100.01", 99_009_900, 101_010_100),
        ("1000000.00", 990_000_000_000, 1_010_000_000_000),
    ],
)
def test_both_limits_are_exact_to_the_base_unit(amount, needed, overpaid_above):
    assert needed_units(Decimal(amount)) == needed
    assert overpaid_above_units(Decimal(amount)) == overpaid_above


@given(prices)
def test_the_limits_lie_the_same_integer_distance_from_every_price(amount):
    cents = int(amount * 100)
    price = cents * 10_000
    allowance = max(cents * 100, 50_000)
    assert needed_units(amount) == price - allowance
    assert overpaid_above_units(amount) == price + allowance


@given(
    st.sampled_from([("EUR", 2), ("JPY", 0)]),
    st.integers(1, 10**8),
    st.decimals("0.00004", "2", places=12),
    st.decimals("0", "0.05", places=4),
)
def test_a_converted_price_is_paid_by_its_dollars_and_not_by_a_unit_less_than_the_tolerance_allows(
    currency, least_units, rate, margin
):
    price = Decimal(least_units).scaleb(-currency[1])
    usd = usd_at(price, rate, margin)
    # Never a cent for or against.
    assert 0 <= usd - price * rate * (1 + margin) < Decimal("0.01")
    if not MIN_AMOUNT <= usd <= MAX_AMOUNT:
        return
    needed = needed_units(usd)

    def status(units):
        return derive_status(PENDING, Received(seen=units, confirmed=units), needed_units=needed)

    assert status(to_units(usd)) == status(needed) == COMPLETED
    assert status(needed - 1) == UNDERPAID
    assert to_units(usd) - needed == max(to_units(usd) // 100, 50_000)


@given(prices)
def test_no_price_is_paid_by_nothing_or_by_dust(amount):
    assert needed_units(amount) > DUST_UNITS


def test_dust_ends_at_one_cent():
    assert DUST_UNITS == 10_000


# Which suffix is handed out next, and the arithmetic around it.


ROUND = set(range(100, 10_000, 100))
THOUSANDS = set(range(1_000, 10_000, 1_000))
VANISHING = set(range(1, 50))
CARRYING = set(range(9_950, 10_000))
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
    crowd = Counter(map(block, taken))
    free = EVERY - CARRYING - taken
    fewest = min(crowd[block(suffix)] for suffix in free)
    assert set(best_free(taken)) == {s for s in free if crowd[block(s)] == fewest}


@given(st.sets(st.sampled_from(sorted(CARRYING)), min_size=1))
def test_those_that_round_to_the_next_cent_come_after_all_others(left: set[int]) -> None:
    other = 9_949
    assert best_free(EVERY - left - {other}) == [other]
    assert set(best_free(EVERY - left)) == left
    assert {round(suffix / 100) for suffix in CARRYING} == {100}


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


# What makes creation of a checkout idempotent.


WANTED = NewCheckout(
    amount=Decimal(49),
    currency="USD",
    description="",
    metadata="{}",
    customer_email="",
    redirect_url="",
    webhook_url="",
    expires_in=900,
    customer_ref="",
    product_ref="",
    order_ref="order-7",
    test_scenario=Scenario.COMPLETED,
)


def test_an_order_is_named_by_its_reference() -> None:
    assert WANTED.creation_ref == "order-7"
    assert replace(WANTED, order_ref="").creation_ref is None


def test_each_payer_of_a_link_gets_a_checkout() -> None:
    of_link = replace(WANTED, is_repeatable=False, again_url="https://links.example/p/1")
    assert of_link.creation_ref is None
    assert of_link.is_from_link
    assert not WANTED.is_from_link


def test_of_each_expired_checkout_one_is_made_afresh() -> None:
    assert replace(WANTED, again_for="chk_1").creation_ref == "again:chk_1"


FIVE = timedelta(seconds=5)


@pytest.mark.parametrize("scenario", list(Scenario))
def test_every_scenario_plays_one_step_every_five_seconds(scenario):
    steps = steps_of(scenario, NOON)
    assert [step.due_at for step in steps] == [NOON + FIVE * number for number in range(1, len(steps) + 1)]
    assert FIVE == TICK


def test_the_default_pays_five_seconds_after_creation():
    assert steps_of(Scenario.COMPLETED, NOON) == [ScenarioStep(StepKind.PAY, NOON + FIVE)]


def test_a_reorganisation_is_played_before_the_completion_and_after_it():
    kinds = [step.kind for step in steps_of(Scenario.REORG, NOON)]
    assert kinds == [StepKind.DETECT, *[StepKind.ORPHAN, StepKind.RETURN] * 2]


def test_every_scenario_is_over_before_the_shortest_checkout_expires():
    shortest = NOON + timedelta(seconds=300)
    for scenario in Scenario:
        assert steps_of(scenario, NOON)[-1].due_at < shortest


@pytest.mark.parametrize("price", [Decimal("0.10"), Decimal("0.11"), Decimal("25.01"), Decimal("1000000.00")])
def test_a_part_and_the_rest_are_the_price_in_whole_cents(price):
    parts = [amount_of(kind, price) for kind in (StepKind.PAY_SHORT, StepKind.PAY_REST)]
    assert sum(parts) == price
    assert all(part == part.quantize(Decimal("0.01")) > 0 for part in parts)


@pytest.mark.parametrize("price", [Decimal("0.10"), Decimal("0.11"), Decimal("0.12"), Decimal("25.00"), MAX_AMOUNT])
def test_a_part_is_too_little_and_twice_the_price_too_much_at_any_price(price):
    short, twice = (to_units(amount_of(kind, price)) for kind in (StepKind.PAY_SHORT, StepKind.PAY_OVER))
    assert DUST_UNITS <= short < needed_units(price)
    assert twice > overpaid_above_units(price)


def test_steps_that_pay_say_what_part_of_the_price():
    assert SHARES[StepKind.PAY] == Decimal(1)
    assert SHARES[StepKind.PAY_SHORT] < Decimal("0.9")
    assert SHARES[StepKind.PAY_OVER] > Decimal("1.1")
    # What is left to pay is no share of its own.
    paying = {kind for kind in StepKind if kind.startswith("pay")} - {StepKind.PAY_REST} | {StepKind.DETECT}
    assert set(SHARES) == paying


# Numbers as people read them.


@pytest.mark.parametrize(
    ("amount", "text"), [("0", "0"), ("2.5", "2.50"), ("7", "7"), ("250", "250"), ("7500", "7.5k"), ("2500000", "2.5M")]
)
def test_an_axis_is_short_of_room(amount: str, text: str) -> None:
    assert short_money(Decimal(amount)) == text
