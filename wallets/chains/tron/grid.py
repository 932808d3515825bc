"""TronGrid's REST interface as a second source beside Tron's JSON-RPC. A failed check of an answer raises."""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, NoReturn
from urllib.parse import urlsplit

from wallets.chains.base import (
    BlockRef,
    ChainMismatchError,
    ChainUnavailableError,
    MalformedAnswerError,
    RangeTooLargeError,
    TokenTransfer,
)
from wallets.chains.evm.decode import TRANSFER
from wallets.chains.family import ChainSpec, TokenSpec
from wallets.chains.rpc.client import Node
from wallets.chains.tron.dialect import KEY_HEADER, TRON_DIALECT, write_address

_HASH: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HEX: Final = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_EMITTER_DIGITS: Final = 40
_WORD_DIGITS: Final = 64
_TRANSFER_TOPICS: Final = 3
_LONGEST_FINGERPRINT: Final = 2_048
_HIGHEST: Final = 2**53
_LATEST_TIME: Final = 4_102_444_800_000  # the year 2100, in milliseconds

ROWS_IN_A_PAGE: Final = 200
MOST_PAGES: Final = 50
# A listing may report a neighbouring block for a transfer.
_MARGIN: Final = timedelta(seconds=10)


class GridPage(NamedTuple):
    """A page of an account's listing. An empty `fingerprint` marks the last one."""

    tx_ids: list[str]
    fingerprint: str


class GridLog(NamedTuple):
    """A transfer of a watched token (0x and hex). `position` counts all Transfer logs of its transaction."""

    position: int
    token: str
    units: int
    sender: bytes
    recipient: bytes


class GridTransaction(NamedTuple):
    """A successful transaction in a solidified block."""

    tx_id: str
    height: int
    logs: list[GridLog]


def milliseconds(moment: datetime) -> str:
    """Write a time as TronGrid's queries do."""
    return str(int(moment.timestamp() * 1000))


def page_of(answer: Any) -> GridPage:
    """Read a page of an account's transfers. Raises MalformedAnswerError."""
    told = _object(answer)
    if told.get("success") is not True:
        _refuse("a listing did not succeed")
    rows = _list(told.get("data"))
    fingerprint = _object(told.get("meta")).get("fingerprint", "")
    if not isinstance(fingerprint, str) or len(fingerprint) > _LONGEST_FINGERPRINT:
        _refuse("a fingerprint is not a text")
    return GridPage([_hash(_object(row).get("transaction_id")) for row in rows], fingerprint)


def transaction(answer: Any, *, tx_id: str, tokens: Collection[str]) -> GridTransaction:
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
        return GridTransaction(tx_id, height, [])
    all_logs = [_object(log) for log in _list(told.get("log", []))]
    places = enumerate(log for log in all_logs if _is_transfer(log))
    # Other contracts' logs may contain anything.
    logs = [_log(log, place) for place, log in places if _emitter(log) in tokens]
    return GridTransaction(tx_id, height, logs)


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


def _log(log: Mapping[str, Any], position: int) -> GridLog:
    _, sender, recipient = log["topics"]
    return GridLog(
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
    if not f"0x{text}".startswith(TRON_DIALECT.paddings):
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


class TronGridSource:
    """A TronGrid, which lists wallets' incoming transfers. It knows only solidified blocks."""

    def __init__(self, spec: ChainSpec, url: str) -> None:
        """Keep `url`, the prefix of its paths; it gets the key of the node on the same host."""
        self._spec = spec
        self._node = open_node(spec, url)
        self._tokens = {TRON_DIALECT.contract(t.address): t for t in spec.accepted_tokens}

    @property
    def label(self) -> str:
        """Return scheme, host and port."""
        return self._node.label

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far."""
        return self._node.requests

    def transfers(self, keys: Collection[bytes], first: BlockRef, last: BlockRef) -> list[TokenTransfer]:
        """Return every transfer of an accepted token to these recipients (20 bytes) in the blocks `first` to `last`.

        They equal the JSON-RPC adapter's. Costs a request for each recipient and token, for each transaction and for each
        block with one. Raises ChainMismatchError if its own block at that height is not `last`, ChainUnavailableError if
        `last` is not solidified yet, and other ChainErrors; never returns a part.
        """
        if self._block(last.height).hash != last.hash:
            raise ChainMismatchError(f"{self.label} has another block at {last.height} than we read")
        ids = {
            tx_id: None
            for key in keys
            for token in self._spec.accepted_tokens
            for tx_id in self._listed(key, token, first, last)
        }
        found = [self._transaction(tx_id) for tx_id in ids]
        inside = [tx for tx in found if first.height <= tx.height <= last.height]
        return list(self._arrivals(inside, frozenset(keys)))

    def close(self) -> None:
        """Close the connection."""
        self._node.close()

    def _listed(self, key: bytes, token: TokenSpec, first: BlockRef, last: BlockRef) -> Iterator[str]:
        """Return the ids of transactions that moved a token to an account in about this time."""
        path = f"v1/accounts/{write_address(key)}/transactions/trc20"
        query = [
            ("only_to", "true"),
            ("only_confirmed", "true"),
            ("limit", str(ROWS_IN_A_PAGE)),
            ("contract_address", token.address),
            ("min_timestamp", milliseconds(first.time - _MARGIN)),
            ("max_timestamp", milliseconds(last.time + _MARGIN)),
            # New transfers come after those already read.
            ("order_by", "block_timestamp,asc"),
        ]
        fingerprint = ""
        for _ in range(MOST_PAGES):
            cursor = [("fingerprint", fingerprint)] if fingerprint else []
            page = page_of(self._node.get(path, query + cursor))
            yield from page.tx_ids
            if not page.fingerprint:
                return
            if page.fingerprint == fingerprint:
                raise MalformedAnswerError(f"{self.label} repeats a page")
            fingerprint = page.fingerprint
        raise RangeTooLargeError(f"{self.label} lists too many transfers of one wallet")

    def _transaction(self, tx_id: str) -> GridTransaction:
        answer = self._node.post("walletsolidity/gettransactioninfobyid", {"value": tx_id})
        return transaction(answer, tx_id=tx_id, tokens=self._tokens)

    def _block(self, height: int) -> BlockRef:
        question = {"id_or_num": str(height), "detail": False}
        answer = self._node.post("walletsolidity/getblock", question)
        return block_ref(answer, height=height)

    def _arrivals(self, transactions: Collection[GridTransaction], keys: frozenset[bytes]) -> Iterator[TokenTransfer]:
        wanted = [
            (transaction, log)
            for transaction in transactions
            for log in transaction.logs
            if log.recipient in keys and log.units > 0 and log.sender != log.recipient
        ]
        heights = sorted({transaction.height for transaction, _ in wanted})
        blocks = {height: self._block(height) for height in heights}
        for transaction, log in wanted:
            yield self._transfer(transaction, log, blocks[transaction.height])

    def _transfer(self, transaction: GridTransaction, log: GridLog, block: BlockRef) -> TokenTransfer:
        token = self._tokens[log.token]
        return TokenTransfer(
            chain=self._spec.name,
            tx_hash=transaction.tx_id,
            position=log.position,
            token=token.symbol,
            token_address=token.address,
            units=log.units,
            sender=write_address(log.sender),
            recipient_key=log.recipient,
            recipient=write_address(log.recipient),
            block_height=block.height,
            block_hash=block.hash,
            block_time=block.time,
            sender_key=log.sender if any(log.sender) else b"",
        )


def open_node(spec: ChainSpec, url: str) -> Node:
    """Return a TronGrid for the prefix of its paths, without asking it."""
    return Node(url, headers=_key_header(spec, url))


def _key_header(spec: ChainSpec, url: str) -> dict[str, str]:
    """Return the header with the key, unless it is another provider's."""
    host = urlsplit(url).hostname
    keys = zip(spec.rpc_urls, spec.api_keys, strict=False)
    mine = [key for node, key in keys if key and urlsplit(node).hostname == host]
    return {KEY_HEADER: mine[0]} if mine else {}
