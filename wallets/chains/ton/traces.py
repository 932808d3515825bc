"""Parses traces of toncenter's interface, version 3: everything that followed from one signed message.

Shapes: ton-indexer, ton-index-go/index/models (Trace, Transaction, Message). Everything here raises MalformedAnswerError.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains.base import MalformedAnswerError
from wallets.chains.ton import decode
from wallets.chains.ton.decode import Receipt

MOST_TRANSACTIONS: Final = 10_000
"""Far above an index's limit for one trace."""

# Text, encrypted text or nothing, which wallets send with coin.
_PLAIN_OPCODES: Final = (None, "0x00000000", "0x2167da4b")


@dataclass(frozen=True, slots=True)
class CoinTransfer:
    """A plain transfer of coin between accounts. `units` are nanotons."""

    source: bytes
    account: bytes
    units: int


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One transaction of a trace. `height` is its masterchain block, None before there is one."""

    tx_hash: str
    time: int
    height: int | None
    has_failed: bool
    receipt: Receipt | None
    coin: CoinTransfer | None
    # Its own hash, and those of its messages, computed both ways.
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Trace:
    """The consequences of one message. `names` are all hashes that identify it."""

    is_complete: bool
    steps: Sequence[TraceStep]
    names: frozenset[str]


def traces(answer: Any) -> list[Trace]:
    """Read /traces."""
    return [_trace(row) for row in decode.rows(answer, "traces")]


def lone_transactions(answer: Any) -> list[Trace]:
    """Read /transactions, asked for one hash, each as a trace of its own."""
    steps = [_step(row) for row in decode.rows(answer, "transactions")]
    return [Trace(is_complete=True, steps=[step], names=step.names) for step in steps]


def _trace(row: Any) -> Trace:
    fields = decode.mapping(row)
    found = decode.mapping(fields.get("transactions") or {})
    if len(found) > MOST_TRANSACTIONS:
        raise MalformedAnswerError("a trace is longer than any")
    steps = [_step(each) for each in found.values()]
    external = fields.get("external_hash")
    own = {decode.hash_of(external)} if external is not None else set()
    return Trace(
        is_complete=not fields.get("is_incomplete"),
        steps=sorted(steps, key=lambda step: (step.time, step.tx_hash)),
        names=frozenset(own).union(*(step.names for step in steps)),
    )


def _step(row: Any) -> TraceStep:
    fields = decode.mapping(row)
    tx_hash = decode.hash_of(fields.get("hash"))
    return TraceStep(
        tx_hash=tx_hash,
        time=decode.transaction_time(row),
        height=decode.height_of(fields),
        has_failed=decode.mapping(fields.get("description")).get("aborted") is True,
        receipt=decode.receipt(row),
        coin=_coin(fields),
        names=frozenset({tx_hash, *_names(fields)}),
    )


def _names(fields: Mapping[str, Any]) -> Iterator[str]:
    sent = fields.get("out_msgs")
    messages = [fields.get("in_msg"), *(sent if isinstance(sent, list) else [])]
    for message in messages:
        if isinstance(message, dict):
            told = (message.get(name) for name in ("hash", "hash_norm"))
            yield from (decode.hash_of(one) for one in told if one is not None)


def _coin(fields: Mapping[str, Any]) -> CoinTransfer | None:
    """Return a transaction's incoming coin, without fees for contract calls and without bounces."""
    message = fields.get("in_msg")
    if not isinstance(message, dict) or message.get("source") is None:
        return None
    bounced = decode.mapping(fields.get("description")).get("bounce") is not None
    is_plain = message.get("opcode") in _PLAIN_OPCODES and not message.get("bounced")
    if bounced or not is_plain or message.get("value") is None:
        return None
    units = decode.amount(message.get("value"))
    source, account = decode.key(message["source"]), decode.key(fields.get("account"))
    return CoinTransfer(source, account, units) if units and source != account else None
