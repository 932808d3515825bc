"""Answers that are wrong in one way at a time: each is refused, as a ChainError, or read as the truth."""

import base64
from typing import Any

import pytest
from hypothesis import given

from tests.wallets.chains.solana.reading import JSON, new_owner
from wallets.chains.base import ChainError, ChainUnavailableError, MalformedAnswerError
from wallets.chains.solana import decode
from wallets.chains.solana.questions import Listing

ACCOUNT, PAYER, SIGNATURE = new_owner(), new_owner(), "5" * 87


CLOCKS: dict[str, Any] = {
    "number": 5,
    "no context": {"value": None},
    "context is a list": {"context": [], "value": None},
    "data is text": {"data": "AAAA"},
    "data of another encoding": {"data": ["AAAA", "base58"]},
    "data is not base64": {"data": ["é!", "base64"]},
    "short": {"data": [base64.b64encode(bytes(39)).decode(), "base64"]},
    "long": {"data": [base64.b64encode(bytes(41)).decode(), "base64"]},
    "slot beyond all": {"data": [base64.b64encode(b"\xff" * 8 + bytes(32)).decode(), "base64"]},
    "before 1970": {"data": [base64.b64encode(bytes(32) + b"\xff" * 8).decode(), "base64"]},
    "in 10,000 years": {"data": [base64.b64encode(bytes(32) + b"\x7f" * 7 + b"\0").decode(), "base64"]},
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


@pytest.mark.parametrize("value", [{}, {"owner": 5}, {"owner": PAYER}, [], {"owner": decode.TOKEN_PROGRAM * 2}])
def test_a_token_kept_by_no_token_program_is_refused(value: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        decode.mint_program({"context": {"slot": 5}, "value": value})


@pytest.mark.parametrize("value", [None, [], [None, None], [5], [{"slot": 5}], [{"slot": -1, "err": None}]])
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
