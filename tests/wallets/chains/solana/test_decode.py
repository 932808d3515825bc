"""Answers that are wrong in one way at a time: each is refused, as a ChainError, or read as the truth."""

import base64
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from solders.signature import Signature

from tests.wallets.chains.solana.reading import JSON, new_owner
from wallets.chains.base import (
    ChainError,
    ChainUnavailableError,
    MalformedAnswerError,
)
from wallets.chains.solana import decode
from wallets.chains.solana.changes import ReadTransaction
from wallets.chains.solana.listing import MOST_PAGES, Listing
from wallets.chains.solana.memory import MOST_REMEMBERED, TransactionMemory

ACCOUNT, PAYER, SIGNATURE = new_owner(), new_owner(), "5" * 87
HUGE = 10**400


def listed(*slots: int, **fields: Any) -> list[dict[str, Any]]:
    """A listing, with a signature of its own for each slot named."""
    letters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
    return [
        {"signature": letters[place] * 87, "slot": slot, "err": None, **fields}
        for place, slot in enumerate(slots)
    ]


LISTINGS: dict[str, Any] = {
    "null": None,
    "object": {},
    "strings": ["x"],
    "nested": [[]],
    "no signature": [{"slot": 5, "err": None}],
    "no slot": [{"signature": SIGNATURE, "err": None}],
    "no err": [{"signature": SIGNATURE, "slot": 5}],
    "short signature": listed(5, signature="abc"),
    "long signature": listed(5, signature="z" * 88),
    "signature is bytes": listed(5, signature=[1, 2]),
    "negative slot": listed(-5),
    "huge slot": listed(HUGE),
    "slot is true": listed(True),
    "out of order": listed(5, 6),
    "twice": [*listed(5), *listed(5)],
    "too many": listed(9, 8, 7, 6),
}


@pytest.mark.parametrize("answer", LISTINGS.values(), ids=LISTINGS)
def test_a_listing_that_cannot_be_is_refused(answer: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        Listing(ACCOUNT, floor=0, page=3).take(answer)


def test_a_listing_that_never_ends_is_given_up() -> None:
    names = (str(Signature(n.to_bytes(64, "big"))) for n in count(1))
    listing = Listing(ACCOUNT, floor=0, page=2)
    page = [{"signature": next(names), "slot": 5, "err": None} for _ in range(2)]
    for _ in range(MOST_PAGES - 1):
        listing.take(page)
        page = [page[-1], {"signature": next(names), "slot": 5, "err": None}]
    with pytest.raises(ChainUnavailableError, match="more transactions"):
        listing.take(page)


def test_what_is_remembered_is_bounded_and_the_longest_unused_goes_first() -> None:
    memory = TransactionMemory()
    read = ReadTransaction(5, datetime(2026, 1, 1, tzinfo=UTC), frozenset(), (), ())
    for number in range(MOST_REMEMBERED):
        memory.keep(str(number), read)
    assert set(memory.recall({"0": 5, "1": 6})) == {"0"}
    memory.keep("one more", read)
    assert set(memory.recall({"0": 5, "1": 5, "one more": 5})) == {"0", "one more"}


CLOCKS: dict[str, Any] = {
    "number": 5,
    "no context": {"value": None},
    "context is a list": {"context": [], "value": None},
    "data is text": {"data": "AAAA"},
    "data of another encoding": {"data": ["AAAA", "base58"]},
    "data is not base64": {"data": ["é!", "base64"]},
    "short": {"data": [base64.b64encode(bytes(39)).decode(), "base64"]},
    "long": {"data": [base64.b64encode(bytes(41)).decode(), "base64"]},
    "slot beyond all": {
        "data": [base64.b64encode(b"\xff" * 8 + bytes(32)).decode(), "base64"]
    },
    "before 1970": {
        "data": [base64.b64encode(bytes(32) + b"\xff" * 8).decode(), "base64"]
    },
    "in 10,000 years": {
        "data": [base64.b64encode(bytes(32) + b"\x7f" * 7 + b"\0").decode(), "base64"]
    },
}


@pytest.mark.parametrize("answer", CLOCKS.values(), ids=CLOCKS)
def test_a_clock_that_cannot_be_is_refused(answer: Any) -> None:
    if isinstance(answer, dict) and "data" in answer:
        answer = {"context": {"slot": 5}, "value": answer}
    with pytest.raises(MalformedAnswerError):
        decode.clock(answer)


def test_a_node_without_a_clock_is_waited_for() -> None:
    with pytest.raises(ChainUnavailableError):
        decode.clock({"context": {"slot": 5}, "value": None})


@pytest.mark.parametrize(
    "value",
    [{}, {"owner": 5}, {"owner": PAYER}, [], {"owner": decode.TOKEN_PROGRAM * 2}],
)
def test_a_token_kept_by_no_token_program_is_refused(value: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        decode.mint_program({"context": {"slot": 5}, "value": value})


@pytest.mark.parametrize(
    "value", [None, [], [None, None], [5], [{"slot": 5}], [{"slot": -1, "err": None}]]
)
def test_statuses_of_other_transactions_are_refused(value: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        decode.known_slots({"context": {"slot": 5}, "value": value}, count=1)


def test_a_status_of_a_failure_is_no_payment() -> None:
    value = [{"slot": 5, "err": "x"}, {"slot": 6, "err": None}, None]
    answer = {"context": {"slot": 9}, "value": value}
    assert decode.known_slots(answer, count=3) == (9, [None, 6, None])


@given(answer=JSON)
def test_any_answer_to_any_question_is_read_or_refused(answer: Any) -> None:
    for read in (
        decode.slot,
        decode.key,
        decode.signature,
        decode.clock,
        decode.mint_program,
        Listing(ACCOUNT, floor=0, page=3).take,
        lambda told: decode.known_slots(told, count=1),
    ):
        try:
            read(answer)
        except ChainError:
            continue
