"""Requests to toncenter nodes, traces included: each function asks one node and checks its answer."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from wallets.chains.base import BlockRef, ChainUnavailableError, MalformedAnswerError, RangeTooLargeError
from wallets.chains.rpc.client import TOTAL_SECONDS, Node
from wallets.chains.rpc.pool import SURVEY_SECONDS, whole
from wallets.chains.ton import decode
from wallets.chains.ton.address import canonical_address
from wallets.chains.ton.decode import JettonReceipt, Listed, Place

MOST_TRANSACTIONS: Final = 10_000
"""Far above an index's limit for one trace."""
# Text, encrypted text or nothing, which wallets send with coin.
_PLAIN_OPCODES: Final = (None, "0x00000000", "0x2167da4b")
# The state of a trace of which a message is still under way. `is_incomplete` does not say so: a trace too large to be told has it.
_PENDING: Final = "pending"

PAGE: Final = 1_000
"""toncenter's limit of rows per answer."""

MOST_PAGES: Final = 20
"""Rows beyond this many pages wait for the next reading."""

AT_ONCE: Final = 100
"""How many addresses one request names.

The interface takes a thousand; the proxies in front of it take lines of 8 kB, which hold a hundred.
"""
# A transfer's trace has half a dozen transactions of a few kB.
_TRACES_AT_ONCE: Final = 20

Parameters = list[tuple[str, str]]


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
    receipt: JettonReceipt | None
    coin: CoinTransfer | None
    # Its own hash, and those of its messages, computed both ways.
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Trace:
    """The consequences of one message, all of them if `is_complete`. `names` are all hashes that identify it."""

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
    external, info = fields.get("external_hash"), fields.get("trace_info")
    own = {decode.hash_of(external)} if external is not None else set()
    is_pending = isinstance(info, dict) and info.get("trace_state") == _PENDING
    return Trace(
        is_complete=not (fields.get("is_incomplete") or is_pending),
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


def ask_head(node: Node, *, seconds: float = TOTAL_SECONDS) -> BlockRef:
    return decode.newest_block(node.get("masterchainInfo", seconds=seconds))


def ask_height(node: Node) -> int:
    return ask_head(node, seconds=SURVEY_SECONDS).height


def ask_genesis(node: Node) -> str:
    return decode.genesis_hash(node.get("masterchainInfo"))


def ask_network(node: Node) -> int | None:
    return decode.network_id(node.get("masterchainInfo"))


def ask_block_before(node: Node, time: int) -> BlockRef | None:
    """Return the newest masterchain block before a Unix time; None if the chain is younger."""
    query = [("workchain", "-1"), ("end_utime", str(time - 1))]
    query += [("sort", "desc"), ("limit", "1")]
    answer = _get_whole(node, "blocks", query)
    found = decode.blocks(answer)
    if len(found) > 1 or any(seconds(block.time) >= time for block in found):
        raise MalformedAnswerError(f"{node.label} tells another block than asked for")
    return found[0] if found else None


def ask_block_at(node: Node, height: int) -> BlockRef | None:
    """Return a masterchain block by its number; None if the index lacks it."""
    query = [("workchain", "-1"), ("seqno", str(height)), ("limit", "1")]
    found = decode.blocks(_get_whole(node, "blocks", query))
    if len(found) > 1 or any(block.height != height for block in found):
        raise MalformedAnswerError(f"{node.label} tells another block than asked for")
    return found[0] if found else None


def ask_wallets(node: Node, owners: Collection[bytes], *, master: bytes) -> dict[bytes, bytes]:
    """Return the owners' existing jetton wallets of one jetton.

    The indexer verifies wallets with the jetton's master before listing them; this checks that the answer matches the
    request.
    """
    found: dict[bytes, bytes] = {}
    for some in _chunks(sorted(owners)):
        query = [("owner_address", written_address(owner)) for owner in some]
        query += [("jetton_address", written_address(master)), ("limit", str(PAGE))]
        answer = _get_whole(node, "jetton/wallets", query)
        for row in decode.rows(answer, "jetton_wallets"):
            wallet, owner, its_master = decode.jetton_wallet(row)
            if its_master != master or owner not in owners:
                raise MalformedAnswerError(f"{node.label} lists a stranger's wallet")
            if found.setdefault(owner, wallet) != wallet:
                raise MalformedAnswerError(f"{node.label} gives an owner two wallets")
    return found


def ask_owners(node: Node, wallets: Collection[bytes]) -> dict[bytes, Place]:
    """Return owner and jetton of each address that is a jetton wallet."""
    found: dict[bytes, Place] = {}
    for some in _chunks(sorted(wallets)):
        query = [("address", written_address(wallet)) for wallet in some]
        answer = node.get("jetton/wallets", [*query, ("limit", str(PAGE))])
        for row in decode.rows(answer, "jetton_wallets"):
            wallet, owner, master = decode.jetton_wallet(row)
            if wallet not in wallets:
                raise MalformedAnswerError(f"{node.label} lists a stranger's wallet")
            if found.setdefault(wallet, (owner, master)) != (owner, master):
                raise MalformedAnswerError(f"{node.label} gives a wallet two owners")
    return found


def ask_trace(node: Node, tx_hash: str) -> Trace | None:
    """Return the whole trace of a transaction's or message's hash; None if unknown.

    If the trace is too long, only the transaction itself.
    """
    for name in ("tx_hash", "msg_hash"):
        found = traces(node.get("traces", [(name, tx_hash), ("limit", "1")]))
        if found and not found[0].steps:
            found = lone_transactions(node.get("transactions", [("hash", tx_hash)]))
        if len(found) > 1 or any(tx_hash not in trace.names for trace in found):
            raise MalformedAnswerError(f"{node.label} tells another trace")
        if found:
            return found[0]
    return None


def ask_steps(node: Node, names: Sequence[str]) -> list[TraceStep]:
    """Return the traces of these transactions, as far as the index returns them.

    Too large answers are split, and single traces that are too large are left out.
    """
    found: list[TraceStep] = []
    for start in range(0, len(names), _TRACES_AT_ONCE):
        found += _ask_steps(node, names[start : start + _TRACES_AT_ONCE])
    return found


def _ask_steps(node: Node, names: Sequence[str]) -> list[TraceStep]:
    query = [("tx_hash", name) for name in names]
    try:
        answer = node.get("traces", [*query, ("limit", str(len(names)))])
    except RangeTooLargeError:
        half = len(names) // 2
        parts = (names[:half], names[half:]) if half else ()
        return [step for part in parts for step in _ask_steps(node, part)]
    return [step for trace in traces(answer) for step in trace.steps]


def list_transfers(
    node: Node, owners: Collection[bytes], *, master: bytes, since: int, page: int
) -> tuple[list[Listed], int | None]:
    """Return transfers to and from these owners since `since`; and the time from which some are missing."""

    def ask(some: Sequence[bytes]) -> Parameters:
        query = [("owner_address", written_address(owner)) for owner in some]
        return [*query, ("jetton_master", written_address(master))]

    pages = _Pages(node, "jetton/transfers", "jetton_transfers", page=page)
    found, cut = pages.read(owners, ask, since, decode.listed_time)
    rows = [each for row in found if (each := decode.listed(row)) is not None]
    own = [row for row in rows if row.recipient in owners or row.sender in owners]
    return [row for row in own if row.master == master], cut


def list_others(
    node: Node, since: Mapping[bytes, int], *, masters: Collection[bytes], page: int
) -> tuple[list[Listed], int | None]:
    """Return these jettons' transfers to and from owners, each since its own time; and the time from which some are missing.

    It is one listing for all jettons, strangers' too.
    """

    def ask(some: Sequence[bytes]) -> Parameters:
        return [("owner_address", written_address(owner)) for owner in some]

    pages = _Pages(node, "jetton/transfers", "jetton_transfers", page=page)
    found, cut = pages.read(since, ask, min(since.values()), decode.listed_time)
    wanted = [row for row in found if _is_of(row, masters)]
    rows = [each for row in wanted if (each := decode.listed(row)) is not None]
    return [
        row for row in rows if any(row.time >= since.get(side, row.time + 1) for side in (row.sender, row.recipient))
    ], cut


def _is_of(row: Any, masters: Collection[bytes]) -> bool:
    """Return whether a row is of one of these jettons; a row of another jetton may be unreadable."""
    try:
        return decode.master_of(row) in masters
    except MalformedAnswerError:
        return False


def list_receipts(
    node: Node, wallets: Collection[bytes], *, since: int, page: int, until: int | None = None
) -> tuple[list[JettonReceipt], int | None]:
    """Return receipts of jetton wallets from `since` to `until`; and the time from which some are missing."""

    def ask(some: Sequence[bytes]) -> Parameters:
        query = [("account", written_address(wallet)) for wallet in some]
        return query if until is None else [*query, ("end_utime", str(until))]

    pages = _Pages(node, "transactions", "transactions", page=page)
    found, cut = pages.read(wallets, ask, since, decode.transaction_time)
    rows = [each for row in found if (each := decode.receipt(row)) is not None]
    return [row for row in rows if row.account in wallets], cut


class _Pages:
    """A listing in order of time, read page by page."""

    def __init__(self, node: Node, path: str, name: str, *, page: int) -> None:
        self._node = node
        self._path = path
        self._name = name
        self._page = page

    def read(
        self,
        addresses: Collection[bytes],
        ask: Callable[[Sequence[bytes]], Parameters],
        since: int,
        time_of: Callable[[Any], int],
    ) -> tuple[list[Any], int | None]:
        """Return the rows about these addresses, and the time from which on some are missing."""
        found: list[Any] = []
        cuts: list[int] = []
        for some in _chunks(sorted(addresses)):
            rows, cut = self._read(ask(some), since, time_of)
            found += rows
            cuts += [] if cut is None else [cut]
        return found, min(cuts, default=None)

    def _read(self, query: Parameters, since: int, time_of: Callable[[Any], int]) -> tuple[list[Any], int | None]:
        found: list[Any] = []
        offset = 0
        for _ in range(MOST_PAGES):
            rows, limit = self._ask(query, since, offset)
            found += rows
            times = [time_of(row) for row in rows]
            if times != sorted(times) or any(time < since for time in times):
                raise MalformedAnswerError(f"{self._node.label} lists out of order")
            if len(rows) < limit:
                return found, None
            # Starts at the last row's second: so late rows do not push others over the edge of a page.
            offset = offset + limit if times[-1] == since else 0
            since = times[-1]
        return found, since

    def _ask(self, query: Parameters, since: int, offset: int) -> tuple[list[Any], int]:
        """Request a page; it is smaller if strangers made rows so long that a full one fails."""
        limit = self._page
        while True:
            page = [("start_utime", str(since)), ("sort", "asc"), ("limit", str(limit))]
            page += [("offset", str(offset))] if offset else []
            try:
                answer = self._node.get(self._path, [*query, *page])
            except RangeTooLargeError as error:
                if limit > 1:
                    limit = max(limit // 8, 1)
                    continue
                raise ChainUnavailableError(str(error)) from error
            rows = list(decode.rows(answer, self._name))
            if len(rows) > limit:
                raise MalformedAnswerError(f"{self._node.label} lists too much")
            return rows, limit


def _get_whole(node: Node, path: str, query: Parameters) -> Any:
    """Request an answer that has no smaller form."""
    return whole(lambda asked: asked.get(path, query))(node)


def seconds(time: datetime) -> int:
    """Return a time as whole Unix seconds, rounded down."""
    return int(time.timestamp())


def _chunks(addresses: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(addresses), AT_ONCE):
        yield addresses[start : start + AT_ONCE]


def written_address(key: bytes, *, is_testnet: bool = False) -> str:
    """Return a key as the canonical address, a third shorter than the raw one once escaped."""
    raw = f"{int.from_bytes(key[:1], signed=True)}:{key[1:].hex()}"
    return canonical_address(raw, is_testnet=is_testnet)


def ask_names(node: Node, master: str) -> list[str]:
    """Return a jetton's symbol and name as far as the index has them: from its content, or from where that points."""
    answer = node.get("jetton/masters", [("address", master), ("limit", "1")])
    found = decode.mapping(answer)
    contents = [row.get("jetton_content") for row in found.get("jetton_masters") or [] if isinstance(row, dict)]
    books = found.get("metadata")
    for entry in books.values() if isinstance(books, dict) else ():
        told = entry.get("token_info") if isinstance(entry, dict) else None
        contents += told if isinstance(told, list) else []
    return [
        text
        for content in contents
        if isinstance(content, dict)
        for name in ("symbol", "name")
        if isinstance(text := content.get(name), str)
    ]
