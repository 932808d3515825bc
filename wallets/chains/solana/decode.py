"""Parses Solana nodes' answers. Every field used is checked; a failed check raises, so that no partial answer is used.

solders' parsers are not used: on unknown input they panic, which no `except Exception` catches.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple, NoReturn

from wallets.chains.base import ChainUnavailableError, MalformedAnswerError

TOKEN_PROGRAM: Final = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"  # noqa: S105
TOKEN_2022_PROGRAM: Final = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"  # noqa: S105
ASSOCIATED_TOKEN_PROGRAM: Final = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"  # noqa: S105
TOKEN_PROGRAMS: Final = frozenset({TOKEN_PROGRAM, TOKEN_2022_PROGRAM})

# A tuple: what a node writes need not be hashable.
_VOTED_FOR: Final = ("confirmed", "finalized")
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS: Final = {letter: value for value, letter in enumerate(_BASE58)}
_KEY: Final = re.compile(rf"[{_BASE58}]{{32,44}}", re.ASCII)
_SIGNATURE: Final = re.compile(rf"[{_BASE58}]{{64,88}}", re.ASCII)
_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_CLOCK_BYTES: Final = 40
_LATEST_SLOT: Final = 2**62
_LATEST_TIME: Final = 4_102_444_800  # the year 2100; later times are invalid
_REMEMBERED: Final = 4_096
_LISTED: Final = 16_384


class ListedSignature(NamedTuple):
    """A transaction in an account's listing. `succeeded` is the listing's own statement."""

    signature: str
    slot: int
    succeeded: bool


def slot(answer: Any) -> int:
    """Read a slot's number. Raises MalformedAnswerError."""
    return integer(answer, most=_LATEST_SLOT)


def clock(answer: Any) -> tuple[int, datetime]:
    """Read the clock account (encoded in base64): the newest slot and its time.

    Solana's documentation of sysvars has its layout: five numbers of eight bytes, the first the slot, the last the Unix
    time. Raises ChainUnavailableError if the node has none, MalformedAnswerError.
    """
    _, account = in_context(answer)
    if account is None:
        raise ChainUnavailableError("the node has no clock")
    data = account_data(account)
    if len(data) != _CLOCK_BYTES:
        refuse("a clock is not a clock")
    seconds = int.from_bytes(data[32:], "little", signed=True)
    return slot(int.from_bytes(data[:8], "little")), time(seconds)


def mint_program(answer: Any) -> str:
    """Read the program that keeps a mint. Raises ChainUnavailableError if there is no such mint, MalformedAnswerError."""
    _, account = in_context(answer)
    if account is None:
        raise ChainUnavailableError("the node does not have a token that we watch")
    program = key(field(account, "owner"))
    if program not in TOKEN_PROGRAMS:
        refuse("a token is kept by a program that is no token program")
    return program


def listed_signatures(answer: Any, *, most: int) -> list[ListedSignature]:
    """Read a page of a listing, newest first, of at most `most` entries. Raises MalformedAnswerError."""
    entries = items(answer)
    if len(entries) > most:
        refuse("a listing is longer than was asked for")
    listed = [
        ListedSignature(
            signature=signature(field(entry, "signature")),
            slot=slot(field(entry, "slot")),
            succeeded=field(entry, "err") is None,
        )
        for entry in entries
    ]
    if any(older.slot > newer.slot for newer, older in pairwise(listed)):
        refuse("a listing is out of order")
    if len({entry.signature for entry in listed}) < len(listed):
        refuse("a listing names a transaction twice")
    return listed


def known_slots(answer: Any, *, count: int) -> tuple[int, list[int | None]]:
    """Read the statuses of `count` transactions: the answer's slot, and the slot of each that succeeded.

    Raises MalformedAnswerError.
    """
    told, statuses = _statuses(answer, count=count)
    return told, [_status_slot(status) for status in statuses]


def has_succeeded(answer: Any) -> bool | None:
    """Read the status of one transaction: whether it succeeded; None if there is none. Raises MalformedAnswerError."""
    [status] = _statuses(answer, count=1)[1]
    return None if status is None else field(status, "err") is None


def has_lasted(answer: Any) -> bool | None:
    """Read the status of one transaction: whether it succeeded in a block for which most of the network voted; None if none has it.

    Raises MalformedAnswerError.
    """
    [status] = _statuses(answer, count=1)[1]
    if status is None:
        return None
    return field(status, "err") is None and optional(status, "confirmationStatus") in _VOTED_FOR


def _statuses(answer: Any, *, count: int) -> tuple[int, Sequence[Any]]:
    told, statuses = in_context(answer)
    if len(items(statuses)) != count:
        refuse("as many statuses came as were not asked for")
    return told, statuses


def _status_slot(status: Any) -> int | None:
    if status is None:
        return None
    found = slot(field(status, "slot"))
    return found if field(status, "err") is None else None


def in_context(answer: Any) -> tuple[int, Any]:
    """Return an answer's slot and value. Raises MalformedAnswerError."""
    return slot(field(field(answer, "context"), "slot")), field(answer, "value")


def field(answer: Any, name: str) -> Any:
    """Return an object's field. Raises MalformedAnswerError, also where it is missing."""
    if not isinstance(answer, dict) or name not in answer:
        refuse(f"there is no {name} where one belongs")
    return answer[name]


def optional(answer: Any, name: str) -> Any:
    """Return an object's field, None where it is missing. Raises MalformedAnswerError if it is not an object."""
    if not isinstance(answer, dict):
        refuse(f"something else came than what has a {name}")
    return answer.get(name)


def items(answer: Any) -> Sequence[Any]:
    """Return a list as it is. Raises MalformedAnswerError."""
    if not isinstance(answer, list):
        refuse("something else came than a list")
    return answer


def integer(answer: Any, *, most: int) -> int:
    """Read a whole number from 0 to `most`. Raises MalformedAnswerError."""
    if type(answer) is not int or not 0 <= answer <= most:
        refuse("a number is not a number, or out of bounds")
    return answer


def time(answer: Any) -> datetime:
    """Read a Unix time. Raises MalformedAnswerError."""
    return datetime.fromtimestamp(integer(answer, most=_LATEST_TIME), UTC)


def key(answer: Any) -> str:
    """Read a public key in base58. Raises MalformedAnswerError."""
    if not isinstance(answer, str):
        refuse("a key is not a key")
    return _key_of(answer)


def signature(answer: Any) -> str:
    """Read a transaction's signature in base58. Raises MalformedAnswerError."""
    if not isinstance(answer, str):
        refuse("a signature is not a signature")
    return _signature_of(answer)


def from_base58(text: str) -> bytes:
    """Decode base58 text. Raises MalformedAnswerError. Slow for long text: limit it first."""
    number = 0
    try:
        for letter in text:
            number = number * 58 + _DIGITS[letter]
    except KeyError:
        refuse("text is not base58")
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


# A listing's transactions repeat the same programs and tokens: each is checked once.
@lru_cache(maxsize=_REMEMBERED)
def _key_of(text: str) -> str:
    if not _KEY.fullmatch(text) or len(from_base58(text)) != _KEY_BYTES:
        refuse("a key is not a key")
    return text


# An account's newest ones are listed with every reading.
@lru_cache(maxsize=_LISTED)
def _signature_of(text: str) -> str:
    if not _SIGNATURE.fullmatch(text) or len(from_base58(text)) != _SIGNATURE_BYTES:
        refuse("a signature is not a signature")
    return text


def account_data(account: Any) -> bytes:
    """Read an account's data, encoded in base64. Raises MalformedAnswerError."""
    data = items(field(account, "data"))
    if len(data) != 2 or data[1] != "base64" or not isinstance(data[0], str):
        refuse("an account's data is not in the encoding asked for")
    try:
        return base64.b64decode(data[0], validate=True)
    except (binascii.Error, ValueError):
        refuse("an account's data is not in the encoding asked for")


def refuse(message: str) -> NoReturn:
    """Raise MalformedAnswerError."""
    raise MalformedAnswerError(message)
