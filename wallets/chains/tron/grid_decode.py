"""Parses TronGrid's answers. A failed check raises, so that no partial answer is used."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, NoReturn

from wallets.chains.base import BlockRef, ChainUnavailableError, MalformedAnswerError
from wallets.chains.evm.decode import TRANSFER
from wallets.chains.tron.dialect import TRON

_HASH: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HEX: Final = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_EMITTER_DIGITS: Final = 40
_WORD_DIGITS: Final = 64
_TRANSFER_TOPICS: Final = 3
_LONGEST_FINGERPRINT: Final = 2_048
_HIGHEST: Final = 2**53
_LATEST_TIME: Final = 4_102_444_800_000  # the year 2100, in milliseconds


class Page(NamedTuple):
    """A page of an account's listing. An empty `fingerprint` marks the last one."""

    tx_ids: list[str]
    fingerprint: str


class Log(NamedTuple):
    """A transfer of a watched token (0x and hex). `position` counts all Transfer logs of its transaction."""

    position: int
    token: str
    units: int
    sender: bytes
    recipient: bytes


class Transaction(NamedTuple):
    """A successful transaction in a solidified block."""

    tx_id: str
    height: int
    logs: list[Log]


def milliseconds(moment: datetime) -> str:
    """Write a time as TronGrid's queries do."""
    return str(int(moment.timestamp() * 1000))


def page(answer: Any) -> Page:
    """Read a page of an account's transfers. Raises MalformedAnswerError."""
    told = _object(answer)
    if told.get("success") is not True:
        _refuse("a listing did not succeed")
    rows = _list(told.get("data"))
    fingerprint = _object(told.get("meta")).get("fingerprint", "")
    if not isinstance(fingerprint, str) or len(fingerprint) > _LONGEST_FINGERPRINT:
        _refuse("a fingerprint is not a text")
    return Page([_hash(_object(row).get("transaction_id")) for row in rows], fingerprint)


def transaction(answer: Any, *, tx_id: str, tokens: Collection[str]) -> Transaction:
    """Parse `gettransactioninfobyid`; `tokens` are the watched contracts.

    A failed transaction has no logs here. Raises ChainUnavailableError if it is not solidified, MalformedAnswerError.
    """
    told = _object(answer)
    if not told:
        raise ChainUnavailableError("the source lacks a transaction that it listed")
    if told.get("id") != tx_id:
        _refuse("another transaction came than was asked for")
    height = _whole(told.get("blockNumber"), most=_HIGHEST)
    if _object(told.get("receipt")).get("result") != "SUCCESS":
        return Transaction(tx_id, height, [])
    all_logs = [_object(log) for log in _list(told.get("log", []))]
    places = enumerate(log for log in all_logs if _is_transfer(log))
    # Other contracts' logs may contain anything.
    logs = [_log(log, place) for place, log in places if _emitter(log) in tokens]
    return Transaction(tx_id, height, logs)


def block_ref(answer: Any, *, height: int) -> BlockRef:
    """Read `getblock`. Raises ChainUnavailableError if it is not solidified, MalformedAnswerError."""
    told = _object(answer)
    if not told:
        raise ChainUnavailableError(f"the source has not solidified block {height}")
    raw = _object(_object(told.get("block_header")).get("raw_data"))
    # Protocol buffers omit a zero.
    if _whole(raw.get("number", 0), most=_HIGHEST) != height:
        _refuse("another block came than was asked for")
    seconds = _whole(raw.get("timestamp", 0), most=_LATEST_TIME) // 1000
    return BlockRef(
        height=height,
        hash=f"0x{_hash(told.get('blockID'))}",
        parent_hash=f"0x{_hash(raw.get('parentHash'))}",
        time=datetime.fromtimestamp(seconds, UTC),
    )


def _is_transfer(log: Mapping[str, Any]) -> bool:
    topics = _list(log.get("topics", []))
    return len(topics) == _TRANSFER_TOPICS and topics[0] == TRANSFER[2:]


def _log(log: Mapping[str, Any], position: int) -> Log:
    _, sender, recipient = log["topics"]
    return Log(
        position=position,
        token=_emitter(log),
        units=int(_hex(log.get("data"), digits=_WORD_DIGITS), 16),
        sender=_address(sender),
        recipient=_address(recipient),
    )


def _emitter(log: Mapping[str, Any]) -> str:
    return f"0x{_hex(log.get('address'), digits=_EMITTER_DIGITS)}"


def _address(topic: Any) -> bytes:
    text = _hex(topic, digits=_WORD_DIGITS)
    if not f"0x{text}".startswith(TRON.paddings):
        _refuse("a topic is longer than an address")
    return bytes.fromhex(text[-_EMITTER_DIGITS:])


def _hex(answer: Any, *, digits: int) -> str:
    if not isinstance(answer, str) or len(answer) != digits or not _HEX.fullmatch(answer):
        _refuse("a field is not hexadecimal of its length")
    return answer.lower()


def _hash(answer: Any) -> str:
    if not isinstance(answer, str) or not _HASH.fullmatch(answer):
        _refuse("a hash is not a hash")
    return answer


def _whole(answer: Any, *, most: int) -> int:
    if type(answer) is not int or not 0 <= answer <= most:
        _refuse("a number is not a number")
    return answer


def _object(answer: Any) -> Mapping[str, Any]:
    if not isinstance(answer, dict):
        _refuse("a part of the answer is not an object")
    return answer


def _list(answer: Any) -> list[Any]:
    if not isinstance(answer, list):
        _refuse("a part of the answer is not a list")
    return answer


def _refuse(message: str) -> NoReturn:
    raise MalformedAnswerError(message)
