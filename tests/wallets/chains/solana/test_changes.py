"""Transactions that are wrong in one way at a time: each is refused whole; and what the right ones amount to."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import base58
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localnet.solana.node import USDC
from tests.wallets.chains.solana.reading import JSON, new_owner
from wallets.chains.base import LABEL_LENGTH, MOST_LABELS, ChainError, ChainUnavailableError, MalformedAnswerError
from wallets.chains.solana import decode
from wallets.chains.solana.changes import read_strangers, read_transaction

OWNER, PAYER = new_owner(), new_owner()
ACCOUNT, SOURCE, REFERENCE = new_owner(), new_owner(), new_owner()
MEMO_PROGRAM = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
SIGNATURE = "5" * 87
DECIMALS = {USDC: 6}
HUGE = 10**400

Change = Callable[[Any], Any]


def balance(place: int, owner: str, units: int, *, mint: str = USDC) -> dict[str, Any]:
    """A token balance as nodes write it."""
    amount = {"amount": str(units), "decimals": 6, "uiAmount": None}
    return {
        "accountIndex": place,
        "mint": mint,
        "owner": owner,
        "programId": decode.TOKEN_PROGRAM,
        "uiTokenAmount": amount,
    }


def payment(**meta: Any) -> dict[str, Any]:
    """A payment of 30 from PAYER to OWNER; `meta` replaces what it did."""
    message = {
        "header": {"numRequiredSignatures": 1, "numReadonlySignedAccounts": 0, "numReadonlyUnsignedAccounts": 4},
        "accountKeys": [PAYER, SOURCE, ACCOUNT, decode.TOKEN_PROGRAM, USDC, REFERENCE, MEMO_PROGRAM],
        "recentBlockhash": new_owner(),
        "instructions": [
            {"programIdIndex": 3, "accounts": [1, 4, 2, 0, 5], "data": "3Bxs"},
            {"programIdIndex": 6, "accounts": [], "data": "Cn8eVZg"},
        ],
    }
    done: dict[str, Any] = {
        "err": None,
        "preTokenBalances": [balance(1, PAYER, 100), balance(2, OWNER, 5)],
        "postTokenBalances": [balance(1, PAYER, 70), balance(2, OWNER, 35)],
        "innerInstructions": [],
        "loadedAddresses": {"writable": [], "readonly": []},
    }
    return {
        "slot": 1_000,
        "blockTime": 1_780_000_000,
        "version": "legacy",
        "meta": done | meta,
        "transaction": {"signatures": [SIGNATURE], "message": message},
    }


def test_a_wrong_figure_of_an_unaccepted_token_stops_no_payment() -> None:
    other = balance(2, OWNER, 7) | {"mint": new_owner(), "accountIndex": 5}
    other["uiTokenAmount"]["decimals"] = 9
    answer = payment()
    answer["meta"]["postTokenBalances"].append(other)
    known = DECIMALS | {other["mint"]: 8}
    with pytest.raises(MalformedAnswerError):
        read_transaction(answer, asked=SIGNATURE, decimals=known)
    read = read_transaction(answer, asked=SIGNATURE, decimals=known, unaccepted={other["mint"]})
    assert [(one.owner, one.units) for one in read.credits] == [(OWNER, 30)]


def credited(answer: Any) -> dict[str, int]:
    """What each owner got."""
    read = read_transaction(answer, asked=SIGNATURE, decimals=DECIMALS)
    return {credit.owner: credit.units for credit in read.credits}


def labels(answer: Any) -> tuple[str, ...]:
    return read_transaction(answer, asked=SIGNATURE, decimals=DECIMALS).credits[0].labels


def changed(path: str, value: Any) -> Any:
    """The payment with something else at a path such as `meta/err`; ... takes it away."""
    answer = copy.deepcopy(payment())
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    parent: Any = answer
    for part in parents:
        parent = parent[part]
    if value is ...:
        del parent[last]
    else:
        parent[last] = value
    return answer


def test_the_payment_that_the_lies_are_made_of_is_a_payment() -> None:
    assert credited(payment()) == {OWNER: 30}
    assert labels(payment()) == (REFERENCE, "hello")


def test_a_balance_of_coin_that_is_missing_is_no_balance_of_another_account() -> None:
    of_each = [10] * len(payment()["transaction"]["message"]["accountKeys"])
    assert read_strangers(payment(preBalances=of_each, postBalances=of_each), known={USDC}) == ()
    for before, after in ((of_each[1:], of_each), (of_each, of_each[1:])):
        with pytest.raises(MalformedAnswerError):
            read_strangers(payment(preBalances=before, postBalances=after), known={USDC})


LIES: list[tuple[str, Any]] = [
    ("slot", -1),
    ("slot", HUGE),
    ("slot", "1000"),
    ("slot", 1.5),
    ("slot", True),
    ("slot", ...),
    ("blockTime", -5),
    ("blockTime", HUGE),
    ("blockTime", "soon"),
    ("blockTime", 1.5),
    ("blockTime", ...),
    ("version", 128),
    ("version", ...),
    ("version", {}),
    ("meta", []),
    ("meta", ...),
    ("meta/err", ...),
    ("meta/preTokenBalances", ...),
    ("meta/preTokenBalances", None),
    ("meta/postTokenBalances", ...),
    ("meta/postTokenBalances", {}),
    ("meta/postTokenBalances/1", None),
    ("meta/postTokenBalances/1", balance(1, OWNER, 5)),
    ("meta/postTokenBalances/1/accountIndex", -1),
    ("meta/postTokenBalances/1/accountIndex", 7),
    ("meta/postTokenBalances/1/accountIndex", HUGE),
    ("meta/postTokenBalances/1/mint", "USDC"),
    ("meta/postTokenBalances/1/owner", ...),
    ("meta/postTokenBalances/1/owner", "0" * 44),
    ("meta/postTokenBalances/1/owner", 5),
    ("meta/postTokenBalances/1/uiTokenAmount", "35"),
    ("meta/postTokenBalances/1/uiTokenAmount/amount", 35),
    ("meta/postTokenBalances/1/uiTokenAmount/amount", "-35"),
    ("meta/postTokenBalances/1/uiTokenAmount/amount", "3.5"),
    ("meta/postTokenBalances/1/uiTokenAmount/amount", "1e9"),
    ("meta/postTokenBalances/1/uiTokenAmount/amount", ""),
    ("meta/postTokenBalances/1/uiTokenAmount/amount", "٣٥"),
    ("meta/postTokenBalances/1/uiTokenAmount/amount", str(2**64)),
    ("meta/postTokenBalances/1/uiTokenAmount/amount", "9" * 5_000),
    ("meta/postTokenBalances/1/uiTokenAmount/decimals", 9),
    ("meta/postTokenBalances/1/uiTokenAmount/decimals", ...),
    ("meta/loadedAddresses", []),
    ("meta/loadedAddresses/writable", ...),
    ("meta/loadedAddresses/readonly", ["x"]),
    ("meta/loadedAddresses/readonly", [ACCOUNT]),
    ("meta/loadedAddresses/readonly", [new_owner() for _ in range(300)]),
    ("meta/innerInstructions", 5),
    ("meta/innerInstructions", [{"index": 0}]),
    ("meta/innerInstructions", [{"instructions": [{"programIdIndex": 99}]}]),
    ("transaction", ["AAAA", "base64"]),
    ("transaction/signatures", []),
    ("transaction/signatures", ["6" * 87]),
    ("transaction/signatures", [5]),
    ("transaction/message", ...),
    ("transaction/message/accountKeys", []),
    ("transaction/message/accountKeys", [{"pubkey": PAYER}]),
    ("transaction/message/accountKeys/2", "1" * 20_000),
    ("transaction/message/header", ...),
    ("transaction/message/header/numRequiredSignatures", 0),
    ("transaction/message/header/numRequiredSignatures", 5),
    ("transaction/message/header/numReadonlyUnsignedAccounts", 7),
    ("transaction/message/header/numReadonlyUnsignedAccounts", -1),
    ("transaction/message/instructions", None),
    ("transaction/message/instructions/0/programIdIndex", 7),
    ("transaction/message/instructions/0/programIdIndex", "3"),
    ("transaction/message/instructions/1/data", 5),
    ("transaction/message/instructions/1/data", "0OIl"),
]


@pytest.mark.parametrize(
    ("path", "value"),
    LIES,
    # Numbered, not told in full: the workers must agree on names, and addresses are drawn.
    ids=[f"{number}-{path}" for number, (path, _) in enumerate(LIES)],
)
def test_a_transaction_with_a_lie_in_it_is_refused(path: str, value: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        credited(changed(path, value))


@pytest.mark.parametrize("answer", [None, changed("blockTime", None), changed("meta", None)])
def test_what_a_node_does_not_know_yet_is_waited_for(answer: Any) -> None:
    with pytest.raises(ChainUnavailableError):
        credited(answer)


@pytest.mark.parametrize("answer", [5, "x", [], {}, True, [payment()]])
def test_something_else_than_a_transaction_is_refused(answer: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        credited(answer)


def test_a_failed_transaction_credits_nobody() -> None:
    error = {"InstructionError": [0, {"Custom": 1}]}
    assert credited(payment(err=error)) == {}
    assert credited(payment(err="AccountInUse")) == {}


def test_an_account_that_was_not_there_before_began_with_nothing() -> None:
    answer = payment(preTokenBalances=[balance(1, PAYER, 100)])
    assert credited(answer) == {OWNER: 35}


def test_an_account_that_is_gone_holds_nothing() -> None:
    answer = payment(postTokenBalances=[balance(2, OWNER, 105)])
    assert credited(answer) == {OWNER: 100}


def test_an_account_that_changes_hands_is_money_to_its_new_owner() -> None:
    answer = payment(preTokenBalances=[balance(1, PAYER, 100)], postTokenBalances=[balance(1, OWNER, 100)])
    assert credited(answer) == {OWNER: 100}


def test_the_accounts_of_one_owner_are_added_up() -> None:
    answer = payment(
        preTokenBalances=[balance(0, OWNER, 50), balance(1, PAYER, 100), balance(2, OWNER, 5)],
        postTokenBalances=[balance(0, OWNER, 30), balance(1, PAYER, 90), balance(2, OWNER, 35)],
    )
    [credit] = read_transaction(answer, asked=SIGNATURE, decimals=DECIMALS).credits
    assert (credit.owner, credit.units, credit.position) == (OWNER, 10, 2)


def test_a_token_that_is_not_watched_is_nothing_whatever_it_claims() -> None:
    fake = new_owner()
    answer = payment(
        preTokenBalances=[balance(1, PAYER, 100, mint=fake)], postTokenBalances=[balance(2, OWNER, 100, mint=fake)]
    )
    assert credited(answer) == {}


def test_the_sender_is_who_lost_most_and_else_who_paid_the_fee() -> None:
    relayer = payment(
        preTokenBalances=[balance(1, REFERENCE, 100), balance(2, PAYER, 10)],
        postTokenBalances=[balance(1, REFERENCE, 40), balance(2, PAYER, 9), balance(0, OWNER, 61)],
    )
    [credit] = read_transaction(relayer, asked=SIGNATURE, decimals=DECIMALS).credits
    assert credit.sender == REFERENCE
    minted = payment(preTokenBalances=[], postTokenBalances=[balance(2, OWNER, 61)])
    [credit] = read_transaction(minted, asked=SIGNATURE, decimals=DECIMALS).credits
    assert credit.sender == PAYER


def test_labels_are_bounded_in_number_and_length() -> None:
    loaded = {"writable": [], "readonly": [new_owner() for _ in range(200)]}
    found = labels(payment(loadedAddresses=loaded))
    assert len(found) == MOST_LABELS
    assert found[:2] == (REFERENCE, "hello")
    assert all(len(label) <= LABEL_LENGTH for label in found)


def test_a_memo_within_another_program_is_a_label_too() -> None:
    inner = [{"index": 0, "instructions": [{"programIdIndex": 6, "data": "Cn8eVZg"}]}]
    answer = payment(innerInstructions=inner)
    answer["transaction"]["message"]["instructions"].pop()
    assert labels(answer) == (REFERENCE, "hello")
    assert labels(payment(innerInstructions=None)) == (REFERENCE, "hello")


def test_a_code_at_the_end_of_the_longest_memo_is_read() -> None:
    memo = "a" * 1_000 + " f7k2m9qw3x5tzr8v"
    answer = changed("transaction/message/instructions/1/data", base58.b58encode(memo.encode()).decode())
    assert labels(answer) == (REFERENCE, memo)


@pytest.mark.parametrize("data", ["", "zzzzzz", "1111"])
def test_a_memo_that_cannot_be_shown_is_left_out(data: str) -> None:
    answer = changed("transaction/message/instructions/1/data", data)
    assert labels(answer) == (REFERENCE,)


def test_a_memo_longer_than_any_transaction_is_left_out_and_holds_up_no_payment() -> None:
    """A payer's own program may hand 10 kB to the memo program, which no check of it may take for a lie."""
    longest = {"programIdIndex": 6, "data": "z" * 14_000}
    within = [{"index": 0, "instructions": [longest]}]
    read = read_transaction(payment(innerInstructions=within), asked=SIGNATURE, decimals=DECIMALS)
    assert [credit.units for credit in read.credits] == [30]
    assert read.credits[0].labels == labels(payment())


def paths(answer: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    entries = answer.items() if isinstance(answer, dict) else enumerate(answer) if isinstance(answer, list) else ()
    for name, inner in entries:
        yield from paths(inner, (*path, name))


PATHS = [path for path in paths(payment()) if path]


@given(path=st.sampled_from(PATHS), value=JSON)
def test_anything_in_any_place_is_refused_or_credits_no_more_than_was_there(path: tuple[Any, ...], value: Any) -> None:
    answer = payment()
    parent: Any = answer
    for part in path[:-1]:
        parent = parent[part]
    parent[path[-1]] = value
    try:
        read = read_transaction(answer, asked=SIGNATURE, decimals=DECIMALS)
    except ChainError:
        return
    assert all(0 < credit.units < 2**64 for credit in read.credits)
    assert all(len(one.labels) <= MOST_LABELS for one in read.credits)
    assert all(label and "\0" not in label for one in read.credits for label in one.labels)
