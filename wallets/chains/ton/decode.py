"""Parses answers of toncenter's interface, version 3, and checks every field that is used.

Addresses become keys (workchain and account, 33 bytes), hashes lower-case hexadecimal, times Unix seconds. Everything here
raises MalformedAnswerError. Shapes: ton-indexer, ton-index-go/index/models.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from wallets.chains.base import AddressError, BlockRef, MalformedAnswerError
from wallets.chains.ton.address import address_key
from wallets.chains.ton.cells import OP_INTERNAL_TRANSFER

_MASTERCHAIN: Final = -1
_NUMBER: Final = re.compile("[0-9]{1,20}", re.ASCII)
_OPCODE: Final = re.compile("0x[0-9a-f]{1,8}", re.ASCII | re.IGNORECASE)
_MOST_SECONDS: Final = 2**32
_MOST_LOGICAL_TIME: Final = 2**64
_MOST_NANOTONS: Final = 2**120
_MOST_BODY_CHARACTERS: Final = 1 << 20


Place = tuple[bytes, bytes]
"""An owner and a jetton's master: together they identify a jetton wallet."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A jetton transfer as indexed: the SENDER's jetton wallet's action, whether or not it succeeds at the recipient.

    `sender` owns that `wallet`; it is empty if the index names no owner.
    """

    tx_hash: str
    sender: bytes
    recipient: bytes
    wallet: bytes
    master: bytes
    lt: int
    time: int


@dataclass(frozen=True, slots=True)
class JettonReceipt:
    """A transaction by which the jetton wallet `account` was sent an internal transfer from the jetton wallet `source`.

    `sent_lt` is the logical time at which the message was made, `height` the masterchain block that has the transaction.
    """

    tx_hash: str
    account: bytes
    source: bytes
    sent_lt: int
    time: int
    height: int | None
    succeeded: bool
    body: str | None


def newest_block(answer: Any) -> BlockRef:
    """Parse the newest masterchain block of /masterchainInfo."""
    return block(_field(mapping(answer), "last"))


def genesis_hash(answer: Any) -> str:
    """Parse the first block's root hash of /masterchainInfo."""
    return hash_of(mapping(_field(mapping(answer), "first")).get("root_hash"))


def network_id(answer: Any) -> int | None:
    """Parse the network's id of a /masterchainInfo; None if it has none."""
    number = mapping(_field(mapping(answer), "last")).get("global_id")
    return number if type(number) is int else None


def block(answer: Any) -> BlockRef:
    """Read a masterchain block."""
    fields = mapping(answer)
    if fields.get("workchain") != _MASTERCHAIN:
        raise MalformedAnswerError("not a block of the masterchain")
    height = _number(fields.get("seqno"), most=2**32)
    time = moment(_number(fields.get("gen_utime"), most=_MOST_SECONDS))
    return BlockRef(height=height, hash=block_name(height), parent_hash="", time=time)


def block_name(height: int) -> str:
    """Return a masterchain block's name: transactions report only its number, and validators sign one block of each."""
    return f"mc:{height}"


def moment(seconds: int) -> datetime:
    """Return Unix seconds as a time."""
    return datetime.fromtimestamp(seconds, UTC)


def blocks(answer: Any) -> list[BlockRef]:
    """Read /blocks, asked for the masterchain alone."""
    return [block(row) for row in rows(answer, "blocks")]


def rows(answer: Any, name: str) -> Sequence[Any]:
    """Return a list that an answer holds."""
    found = _field(mapping(answer), name)
    if not isinstance(found, list):
        raise MalformedAnswerError(f"{name} is not a list")
    return found


def listed(row: Any) -> Listed | None:
    """Parse a row of /jetton/transfers; None for one that failed at the sender."""
    fields = mapping(row)
    if fields.get("transaction_aborted"):
        return None
    source = fields.get("source")
    return Listed(
        tx_hash=hash_of(fields.get("transaction_hash")),
        sender=key(source) if source is not None else b"",
        recipient=key(fields.get("destination")),
        wallet=key(fields.get("source_wallet")),
        master=key(fields.get("jetton_master")),
        lt=_number(fields.get("transaction_lt"), most=_MOST_LOGICAL_TIME),
        time=listed_time(row),
    )


def master_of(row: Any) -> bytes:
    """Read the jetton's master of a row of /jetton/transfers."""
    return key(mapping(row).get("jetton_master"))


def listed_time(row: Any) -> int:
    """Read the time of a row of /jetton/transfers."""
    return _number(mapping(row).get("transaction_now"), most=_MOST_SECONDS)


def transaction_time(row: Any) -> int:
    """Read the time of a row of /transactions."""
    return _number(mapping(row).get("now"), most=_MOST_SECONDS)


def receipt(row: Any) -> JettonReceipt | None:
    """Read a row of /transactions; None for one that was not caused by an internal transfer."""
    fields = mapping(row)
    message = fields.get("in_msg")
    if not isinstance(message, dict) or not _is_internal_transfer(message):
        return None
    content = message.get("message_content")
    body = content.get("body") if isinstance(content, dict) else None
    return JettonReceipt(
        tx_hash=hash_of(fields.get("hash")),
        account=key(fields.get("account")),
        source=key(message.get("source")),
        sent_lt=_number(message.get("created_lt"), most=_MOST_LOGICAL_TIME),
        time=transaction_time(row),
        height=height_of(fields),
        succeeded=_succeeded(fields.get("description")),
        body=body if isinstance(body, str) else None,
    )


def jetton_wallet(row: Any) -> tuple[bytes, bytes, bytes]:
    """Read a row of /jetton/wallets: the wallet, its owner, its jetton's master."""
    fields = mapping(row)
    address, owner, master = (key(fields.get(name)) for name in ("address", "owner", "jetton"))
    return address, owner, master


def amount(value: Any) -> int:
    """Read an amount of coin, in nanotons."""
    return _number(value, most=_MOST_NANOTONS)


def body_bytes(text: str) -> bytes:
    """Return the cells of a message's body in their serialised form."""
    if len(text) > _MOST_BODY_CHARACTERS:
        raise MalformedAnswerError("a message is too long")
    return _base64(text)


def _is_internal_transfer(message: Mapping[str, Any]) -> bool:
    code = message.get("opcode")
    if message.get("bounced") or not isinstance(code, str):
        return False
    return bool(_OPCODE.fullmatch(code)) and int(code, 16) == OP_INTERNAL_TRANSFER


def height_of(fields: Mapping[str, Any]) -> int | None:
    """Return the height of a transaction's masterchain block; None before there is one. An emulated one may never exist."""
    number = fields.get("mc_block_seqno")
    if number is None or fields.get("emulated"):
        return None
    # Some indexers' value for not yet known.
    return _number(number, most=2**32) or None


def _succeeded(description: Any) -> bool:
    fields = mapping(description)
    phase = fields.get("compute_ph")
    if not isinstance(phase, dict):
        return False
    computed = phase.get("skipped") is not True and phase.get("success") is True
    return computed and fields.get("aborted") is False


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object as it is."""
    if not isinstance(value, dict):
        raise MalformedAnswerError("not an object")
    return value


def _field(fields: Mapping[str, Any], name: str) -> Any:
    if name not in fields:
        raise MalformedAnswerError(f"{name} is missing")
    return fields[name]


def _number(value: Any, *, most: int) -> int:
    """Read a number below `most`; long ones are written as text."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value)
    if type(value) is not int or not 0 <= value < most:
        raise MalformedAnswerError("not a number in its range")
    return value


def key(value: Any) -> bytes:
    """Read an address."""
    if not isinstance(value, str):
        raise MalformedAnswerError("not an address")
    try:
        return address_key(value)
    except AddressError:
        raise MalformedAnswerError("not an address") from None


def hash_of(value: Any) -> str:
    """Read a hash of 32 bytes."""
    data = _base64(value) if isinstance(value, str) else b""
    if len(data) != 32:
        raise MalformedAnswerError("not a hash")
    return data.hex()


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedAnswerError("not base64") from None
