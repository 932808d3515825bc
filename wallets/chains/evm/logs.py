"""Asks nodes for contracts' logs in pieces of blocks that public nodes take, and for the account that funded another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from wallets.chains.base import MalformedAnswerError
from wallets.chains.evm import decode
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import checksum

Log = Mapping[str, Any]

# Public nodes search this many blocks at once.
_BLOCKS: Final = 1_000
_LEAST_PIECES: Final = 2
_SPAN_SECONDS: Final = 3_600


@dataclass(frozen=True, slots=True)
class Searched:
    """Blocks from `first` to `last`, both included."""

    first: int
    last: int


def find_logs(pool: RpcPool, emitter: str, topics: Sequence[str | None], searched: Searched) -> list[Log]:
    """Ask for a contract's logs by their topics; None is any. Raises ChainError."""
    wanted = {
        "address": emitter,
        "topics": list(topics),
        "fromBlock": hex(searched.first),
        "toBlock": hex(searched.last),
    }
    logs = pool.call("eth_getLogs", [wanted])
    if not isinstance(logs, list) or not all(isinstance(log, dict) for log in logs):
        raise MalformedAnswerError("logs are no list")
    return with_topics(logs)


def with_topics(logs: Sequence[Log]) -> list[Log]:
    """Return the logs, each of which has a list of topics. Raises MalformedAnswerError."""
    if not all(isinstance(log.get("topics"), list) for log in logs):
        raise MalformedAnswerError("a log has no topics")
    return list(logs)


def topic(address: str) -> str:
    """Return an address in a topic's form."""
    return decode.PADDING + address[2:].lower()


def in_eip55(told: Any) -> str:
    """Return a node's address in EIP-55. Raises MalformedAnswerError."""
    return checksum(bytes.fromhex(decode.address(told)[2:]))


def newest_pieces(newest: int, block_seconds: float) -> Iterator[Searched]:
    """Yield an hour's blocks at least, the newest first."""
    pieces = max(ceil(_SPAN_SECONDS / block_seconds / _BLOCKS), _LEAST_PIECES)
    for last in range(newest, max(newest - pieces * _BLOCKS, -1), -_BLOCKS):
        yield Searched(max(last - _BLOCKS + 1, 0), last)


def funder_of(pool: RpcPool, asset: str, account: str, *, block_seconds: float) -> str:
    """Return who last sent an account a token, within an hour at least; "" if none did. Raises ChainError.

    A transfer of nothing does not count: anyone may write one in any account's name. Nor does one from the account itself.
    """
    topics = [decode.TRANSFER, None, topic(account)]
    newest = decode.quantity(pool.call("eth_blockNumber", []))
    for searched in newest_pieces(newest, block_seconds):
        found = find_logs(pool, asset, topics, searched)
        for log in reversed(found):
            if len(log["topics"]) != len(topics) or not int(decode.word(log.get("data")), 16):
                continue
            sender = in_eip55("0x" + decode.word(log["topics"][1])[-40:])
            if sender.lower() != account.lower():
                return sender
    return ""
