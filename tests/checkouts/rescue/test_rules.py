"""What a transaction was, as a table: facts in, one case out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from checkouts.amounts import DUST_UNITS
from checkouts.rescue.rules import (
    UNDECIDED,
    VERDICTS,
    Case,
    CheckoutStanding,
    Finding,
    Record,
    RescueMovement,
    RescueTransaction,
    Whose,
    find,
)
from checkouts.rescue.service import Books, matched_rows
from checkouts.states import GRACE, CheckoutStatus, RescueVerdict
from wallets.chains.base import PARTS_FROM, FoundMovement, FoundTransaction, TokenTransfer
from wallets.models import Transfer

CREATED = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
EXPIRES = CREATED + timedelta(minutes=30)
IN_TIME = CREATED + timedelta(minutes=5)
LATE = EXPIRES + timedelta(minutes=4)
PENDING = CheckoutStanding(CheckoutStatus.PENDING, 25_000_000, CREATED, EXPIRES)
SHORT = CheckoutStanding(CheckoutStatus.UNDERPAID, 500_000, CREATED, EXPIRES)
SEEN = CheckoutStanding(CheckoutStatus.PROCESSING, 0, CREATED, EXPIRES)
PAID = CheckoutStanding(CheckoutStatus.COMPLETED, 0, CREATED, EXPIRES)
OVER = CheckoutStanding(CheckoutStatus.EXPIRED, 25_000_000, CREATED, EXPIRES)
CANCELLED = CheckoutStanding(CheckoutStatus.EXPIRED, 25_000_000, CREATED, EXPIRES, is_cancelled=True)
OVER_AND_FULL = CheckoutStanding(CheckoutStatus.EXPIRED, 0, CREATED, EXPIRES)

CREDITED = Record(is_credited=True, is_decided=True)
FINAL = Record(is_credited=True, is_decided=True, is_final=True)
MEANT = Record(is_meant=True, is_decided=True)
QUEUED = Record()
# Credited to somebody else, or unmatched: both look like this from here.
NOT_OURS = Record(is_decided=True)


def moved(**changes: Any) -> RescueMovement:
    """The right money to this checkout's own address, not recorded yet."""
    values: dict[str, Any] = {
        "token": "USDC",
        "units": 25_000_000,
        "recipient": "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        "whose": Whose.CHECKOUT,
        "is_accepted": True,
        "takes_chain": True,
        "takes_token": True,
        "is_in_place": True,
    }
    return RescueMovement(**(values | changes))


def sent(*movements: RescueMovement, at: datetime | None = IN_TIME, succeeded: bool = True) -> RescueTransaction:
    return RescueTransaction("base", "0x" + "ab" * 32, succeeded, at, movements)


def to_itself(movement: RescueMovement, *, also: RescueMovement | None = None) -> RescueTransaction:
    others = () if also is None else (also,)
    return replace(sent(*others), to_oneself=[movement])


def to_wallet(record: Record | None = None, **changes: Any) -> RescueMovement:
    return moved(whose=Whose.MERCHANT, record=record, **changes)


TABLE: dict[str, tuple[RescueTransaction, CheckoutStanding, Case]] = {
    "credited and final": (sent(moved(record=FINAL)), PAID, Case.CREDITED),
    "credited, others still confirming": (sent(moved(record=FINAL)), SEEN, Case.CREDITED),
    "credited and not final": (sent(moved(record=CREDITED)), SEEN, Case.CONFIRMING),
    "credited and too little": (sent(moved(record=FINAL)), SHORT, Case.SHORT),
    "too little, not final": (sent(moved(record=CREDITED)), SHORT, Case.SHORT),
    "too little, and over": (sent(moved(record=FINAL)), OVER, Case.SHORT),
    "came back after a reorganisation": (sent(moved(record=FINAL)), OVER_AND_FULL, Case.FOUND_LATE),
    "not read yet": (sent(moved()), PENDING, Case.READING),
    "read, not decided yet": (sent(moved(record=QUEUED)), PENDING, Case.READING),
    "in no block": (sent(at=None), PENDING, Case.IN_LINE),
    "in no block, with a movement": (sent(moved(), at=None), PENDING, Case.IN_LINE),
    "late": (sent(moved(record=MEANT), at=LATE), OVER, Case.LATE),
    "late, not read yet": (sent(moved(), at=LATE), PENDING, Case.LATE),
    "a minute late is in time": (sent(moved(record=CREDITED), at=EXPIRES + GRACE), SEEN, Case.CONFIRMING),
    "in time and found late": (sent(moved(record=MEANT)), OVER, Case.FOUND_LATE),
    "paid already": (sent(moved(record=MEANT)), PAID, Case.EXTRA),
    "more money for one that others pay in full, not final": (sent(to_wallet(record=MEANT)), SEEN, Case.EXTRA),
    "after it was cancelled, within the minute that clocks have": (
        sent(moved(record=MEANT), at=EXPIRES + GRACE),
        CANCELLED,
        Case.LATE,
    ),
    "paid already, and late": (sent(moved(), at=LATE), PAID, Case.EXTRA),
    "dust": (sent(moved(units=DUST_UNITS - 1)), PENDING, Case.DUST),
    "a chain not offered": (
        sent(moved(takes_chain=False, takes_token=False, is_in_place=False)),
        PENDING,
        Case.WRONG_NETWORK,
    ),
    "a token not offered on this chain": (sent(moved(takes_token=False)), PENDING, Case.WRONG_TOKEN),
    "a look-alike that we know": (
        sent(moved(token="USDbC", is_accepted=False, takes_token=False)),
        PENDING,
        Case.WRONG_TOKEN,
    ),
    "the address for another chain": (sent(moved(is_in_place=False)), PENDING, Case.WRONG_PLACE),
    "the chain's own coin": (sent(moved(token="", is_coin=True, is_accepted=False)), PENDING, Case.COIN),
    "from a wallet to itself": (to_itself(moved(whose=Whose.MERCHANT)), PENDING, Case.TO_ONESELF),
    "from a stranger's wallet to itself, and to another address": (
        to_itself(moved(whose=Whose.OTHER), also=moved(whose=Whose.OTHER)),
        PENDING,
        Case.TO_ONESELF,
    ),
    "from a wallet to itself, beside a payment": (
        to_itself(moved(whose=Whose.OTHER), also=moved(record=FINAL)),
        PAID,
        Case.CREDITED,
    ),
    "an unlisted token": (sent(moved(token="", is_accepted=False)), PENDING, Case.UNKNOWN_TOKEN),
    "an unlisted token after the end is no late money": (
        sent(moved(token="", is_accepted=False), at=LATE),
        OVER,
        Case.UNKNOWN_TOKEN,
    ),
    "somebody else's address": (sent(moved(whose=Whose.OTHER)), PENDING, Case.OTHER_ADDRESS),
    "somebody else's address, credited by a person": (
        sent(moved(whose=Whose.OTHER, record=FINAL)),
        PAID,
        Case.CREDITED,
    ),
    "the wallet, credited": (sent(to_wallet(FINAL)), PAID, Case.CREDITED),
    "the wallet, not decided": (sent(to_wallet()), PENDING, Case.READING),
    "the wallet, meant": (sent(to_wallet(MEANT), at=LATE), OVER, Case.LATE),
    "the wallet, not ours": (sent(to_wallet(NOT_OURS)), PENDING, Case.UNNAMED),
    "the wallet, not ours, late": (sent(to_wallet(NOT_OURS), at=LATE), OVER, Case.UNNAMED),
    "the wallet, before the checkout": (
        sent(to_wallet(NOT_OURS), at=CREATED - timedelta(seconds=61)),
        PENDING,
        Case.EARLIER,
    ),
    "the wallet, before the checkout by the chain's clock": (
        sent(to_wallet(), at=CREATED - timedelta(seconds=60)),
        PENDING,
        Case.READING,
    ),
    "the wallet, before the checkout, not recorded": (
        sent(to_wallet(), at=CREATED - timedelta(days=9)),
        PENDING,
        Case.EARLIER,
    ),
    "the wallet, another token before the checkout": (
        sent(to_wallet(token=""), at=CREATED - timedelta(days=9)),
        PENDING,
        Case.EARLIER,
    ),
    "nothing moved": (sent(), PENDING, Case.NOTHING_MOVED),
    "failed": (sent(succeeded=False), PENDING, Case.FAILED),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_transaction_is_what_the_table_says(name: str) -> None:
    transaction, standing, case = TABLE[name]
    found = find([transaction], standing, is_all=True)
    assert found.case is case
    assert found.verdict is VERDICTS[case]
    assert found.transaction is transaction


def test_every_case_has_a_verdict_and_every_verdict_a_case() -> None:
    assert set(VERDICTS) == set(Case)
    assert set(VERDICTS.values()) == set(RescueVerdict)


def test_every_case_but_the_two_without_a_transaction_is_in_the_table() -> None:
    told = {case for _, _, case in TABLE.values()}
    # Nor the one that its names decide, which only its chain knows.
    missing = {Case.NOT_FOUND, Case.UNREACHABLE, Case.FAKE_TOKEN}
    assert told == set(Case) - missing


def test_what_no_chain_knows_is_not_found_only_if_all_of_them_answered() -> None:
    assert find([], PENDING, is_all=True) == Finding(Case.NOT_FOUND)
    assert find([], PENDING, is_all=False) == Finding(Case.UNREACHABLE)


def test_what_one_chain_knows_counts_although_another_is_silent() -> None:
    assert find([sent(moved())], PENDING, is_all=False).case is Case.READING


def test_of_several_movements_the_best_for_the_buyer_wins() -> None:
    fee = moved(whose=Whose.OTHER, units=90_000_000)
    fake = moved(token="", is_accepted=False)
    paid = moved(record=FINAL)
    found = find([sent(fee, fake, paid)], PAID, is_all=True)
    assert found.movement is paid


def test_of_two_that_are_alike_the_larger_is_told() -> None:
    small, large = (moved(whose=Whose.OTHER, units=units) for units in (1, 2))
    assert find([sent(small, large)], PENDING, is_all=True).movement is large


def test_lateness_is_counted_from_the_end_of_the_time_to_pay() -> None:
    found = find([sent(moved(record=MEANT), at=LATE)], OVER, is_all=True)
    assert found.late_by == timedelta(minutes=4)
    assert find([sent(moved())], PENDING, is_all=True).late_by is None


@pytest.mark.parametrize(("record", "is_unread"), [(None, True), (QUEUED, False), (MEANT, False)])
def test_only_money_that_no_book_has_is_unread(record: Record | None, *, is_unread: bool) -> None:
    found = find([sent(moved(record=record))], PENDING, is_all=True)
    assert found.is_unread is is_unread


def test_a_stranger_s_money_is_never_unread() -> None:
    assert not find([sent(moved(whose=Whose.OTHER))], PENDING, is_all=True).is_unread


MOMENTS = st.one_of(st.none(), st.integers(-7_200, 14_400).map(lambda s: CREATED + timedelta(seconds=s)))
RECORDS = st.one_of(st.none(), st.builds(Record, st.booleans(), st.booleans(), st.booleans(), st.booleans()))
MOVEMENTS = st.builds(
    RescueMovement,
    token=st.sampled_from(["", "USDC", "USDbC"]),
    units=st.integers(0, 2**256 - 1),
    recipient=st.just("0x"),
    whose=st.sampled_from(Whose),
    is_coin=st.booleans(),
    is_accepted=st.booleans(),
    takes_chain=st.booleans(),
    takes_token=st.booleans(),
    is_in_place=st.booleans(),
    record=RECORDS,
)
TRANSACTIONS = st.builds(
    RescueTransaction,
    chain=st.just("base"),
    tx_hash=st.just("0x"),
    succeeded=st.booleans(),
    block_time=MOMENTS,
    movements=st.lists(MOVEMENTS, max_size=4),
)
STANDINGS = st.builds(
    CheckoutStanding,
    status=st.sampled_from(CheckoutStatus),
    missing_units=st.integers(0, 10**12),
    created_at=st.just(CREATED),
    expires_at=st.just(EXPIRES),
)
_ORDER = list(Case)


@given(st.lists(TRANSACTIONS, max_size=3), STANDINGS, st.booleans())
def test_whatever_is_found_has_one_answer_in_any_order(
    found: list[RescueTransaction], standing: CheckoutStanding, is_all: bool
) -> None:
    answer = find(found, standing, is_all=is_all)
    assert answer == find(found, standing, is_all=is_all)
    assert answer.case is find(found[::-1], standing, is_all=is_all).case
    assert (answer.transaction is None) == (not found)


@given(TRANSACTIONS, TRANSACTIONS, STANDINGS)
def test_more_that_is_found_never_makes_the_answer_worse(
    first: RescueTransaction, second: RescueTransaction, standing: CheckoutStanding
) -> None:
    alone = find([first], standing, is_all=True)
    both = find([first, second], standing, is_all=True)
    assert _ORDER.index(both.case) <= _ORDER.index(alone.case)


@given(MOVEMENTS, STANDINGS, st.integers(61, 10**7))
def test_what_is_older_than_the_checkout_is_late_only_if_our_books_name_it(
    movement: RescueMovement, standing: CheckoutStanding, seconds: int
) -> None:
    old = sent(movement, at=CREATED - timedelta(seconds=seconds))
    found = find([old], standing, is_all=True)
    assert found.late_by is None
    assert found.case is not Case.LATE
    record = movement.record or Record()
    if movement.whose is Whose.MERCHANT and not (record.is_credited or record.is_meant):
        assert found.case is Case.EARLIER


@given(MOVEMENTS, STANDINGS, MOMENTS)
def test_only_what_is_credited_is_called_so(
    movement: RescueMovement, standing: CheckoutStanding, at: datetime | None
) -> None:
    found = find([sent(movement, at=at)], standing, is_all=True)
    is_credited = movement.record is not None and movement.record.is_credited
    if found.case in {Case.CREDITED, Case.SHORT, Case.CONFIRMING}:
        assert is_credited


@given(STANDINGS, MOMENTS, st.booleans(), st.booleans())
def test_a_stranger_s_address_is_one_whatever_became_of_the_money_there(
    standing: CheckoutStanding, at: datetime | None, is_decided: bool, is_final: bool
) -> None:
    theirs = Record(is_decided=is_decided, is_final=is_final)
    known = moved(whose=Whose.OTHER, record=theirs)
    found = find([sent(known, at=at)], standing, is_all=True)
    assert found.case is Case.OTHER_ADDRESS


def test_only_answers_that_time_may_change_may_be_asked_for_again() -> None:
    undecided = {case for case in Case if VERDICTS[case] in UNDECIDED}
    assert undecided == {Case.CONFIRMING, Case.READING, Case.IN_LINE, Case.UNREACHABLE, Case.NOT_FOUND}
    ranks = [_ORDER.index(case) for case in (Case.CREDITED, *_ORDER[-2:])]
    assert all(before < after for before, after in pairwise(ranks))


def test_of_a_transaction_of_which_more_is_to_come_only_what_came_here_is_certain() -> None:
    def case(transaction: RescueTransaction) -> Case:
        return find([replace(transaction, is_whole=False)], PENDING, is_all=True).case

    for elsewhere in (sent(moved(whose=Whose.OTHER)), sent(moved(whose=Whose.OTHER, token="", is_coin=True))):
        assert find([elsewhere], PENDING, is_all=True).case is Case.OTHER_ADDRESS
        assert case(elsewhere) is Case.IN_LINE
    assert case(to_itself(moved())) is Case.IN_LINE
    assert case(sent(moved(whose=Whose.OTHER), moved())) is Case.READING


# The rows in which a transaction's movements are recorded.


def _part(**values: Any) -> TokenTransfer:
    told: dict[str, Any] = {
        "chain": "solana",
        "tx_hash": "one",
        "position": 0,
        "token": "USDC",
        "token_address": "usdc",
        "units": 3,
        "sender": "payer",
        "recipient_key": b"shop",
        "recipient": "shop",
        "block_height": 1,
        "block_hash": "slot:1",
        "block_time": timezone.now(),
    }
    return TokenTransfer(**(told | values))


def _rows_of(parts: list[TokenTransfer], *rows: Transfer) -> list[Transfer | None]:
    """The rows that a transaction's movements are found in."""
    found = FoundTransaction(
        chain="solana",
        tx_hash="one",
        succeeded=True,
        is_final=True,
        block_height=1,
        block_time=timezone.now(),
        movements=[
            FoundMovement(
                token=one.token,
                token_address=one.token_address,
                units=one.units,
                sender=one.sender,
                recipient=one.recipient,
                recipient_key=one.recipient_key,
                position=one.position,
            )
            for one in parts
        ],
        transfers=parts,
    )
    books = Books(rows, frozenset(), frozenset())
    return [row for _, _, row in matched_rows(found, books)]


def _row(part: TokenTransfer, **values: Any) -> Transfer:
    names = ("tx_hash", "position", "recipient", "token", "units")
    return Transfer(**({name: getattr(part, name) for name in names} | values))


def test_equal_amounts_of_one_transaction_are_each_found_in_their_own_row() -> None:
    parts = [_part(position=1), _part(position=2), _part(position=3)]
    first, last = _row(parts[0]), _row(parts[2])
    assert _rows_of(parts, last, first) == [first, None, last]
    # On TON each has its own hash.
    named = [_part(tx_hash="two"), _part(tx_hash="three")]
    rows = [_row(one) for one in named]
    assert _rows_of(named, *reversed(rows)) == rows


def test_the_parts_of_a_sum_that_an_earlier_release_recorded_are_found_in_it() -> None:
    parts = [_part(position=PARTS_FROM), _part(position=PARTS_FROM + 2, units=4)]
    summed = _row(parts[0], position=2, units=7)
    assert _rows_of(parts, summed) == [summed, summed]
    assert _rows_of([_part(position=2, units=7)], *(rows := [_row(parts[0])])) == rows
