"""A node that tells no logs of a block is not believed where the block's own header says otherwise, and hardly asked more."""

import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address, transfer
from localnet.tron import USDT
from tests.nodes.proxy import Answer, Ask, Fault, Request, RpcProxy, as_if_busy, honest, methods_of, one_by_one
from tests.wallets.chains.tron.test_dialect import KEY
from tests.wallets.evmkin import opened, spec_of
from wallets.chains.base import BlockRef, Hint, MalformedAnswerError, ReorgDuringReadError
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.decode import (
    PADDING,
    SILENT,
    TRANSFER,
    bits_of,
    is_telling,
    may_hold,
    read_base_fee,
    read_bloom,
    sided_logs,
    transfer_log,
    transfer_logs,
)
from wallets.chains.rpc.client import MOST_BYTES
from wallets.chains.tron.dialect import TRON_DIALECT, contract

USDC = token_address("USDC")
OURS = bytes.fromhex("5b" * 20)
OTHERS = [bytes([number]) * 20 for number in range(1, 6)]
words = st.binary(min_size=32, max_size=32).map(lambda word: f"0x{word.hex()}")


def bloom_of(items: list[str]) -> int:
    bloom = SILENT
    for item in items:
        bloom |= bits_of(item)
    return bloom


@given(st.lists(words, min_size=1))
def test_what_is_in_a_block_is_always_in_its_filter(items: list[str]) -> None:
    bloom = read_bloom(f"0x{bloom_of(items):0512x}")
    assert all(may_hold(bloom, [item]) for item in items)


def test_a_stranger_is_in_the_fullest_filter_that_is_believed_once_in_sixteen() -> None:
    choice, bloom = random.Random(1), SILENT
    names = (f"0x{choice.randbytes(32).hex()}" for _ in range(10_000))
    while is_telling(fuller := bloom | bits_of(next(names)), names=1):
        bloom = fuller
    found = sum(may_hold(bloom, [name]) for name in islice(names, 2_000))
    assert 2_000 / 20 < found < 2_000 / 12


@pytest.mark.parametrize(
    ("bits", "names", "is_believed"),
    [(819, 1, True), (820, 1, False), (2_048, 1, False), (300, 20, True), (300, 21, False)],
)  # fmt: skip
def test_a_filter_too_full_for_so_many_names_says_nothing(bits: int, names: int, is_believed: bool) -> None:
    assert is_telling((1 << bits) - 1, names=names) is is_believed


@pytest.mark.parametrize("answer", [None, 5, "", "0x", "0x0", "0x" + "zz" * 256, []])
def test_what_is_no_filter_says_nothing(answer: Any) -> None:
    assert read_bloom(answer) == SILENT
    assert not may_hold(SILENT, [TRANSFER, USDC])


@pytest.mark.parametrize(
    ("answer", "base_fee"),
    [("0x1", 1), ("0x3b9aca00", 10**9), ("0x0", None), (None, None), (7, None), ("7", None), ("0x" + "f" * 16, None)],
    ids=repr,
)
def test_the_price_of_gas_is_read_where_a_block_names_one_and_never_makes_a_block_unreadable(
    answer: Any, base_fee: int | None
) -> None:
    assert read_base_fee(answer) == base_fee


def test_a_nodes_own_filter_holds_the_token_the_event_and_the_recipient(base_node: Anvil) -> None:
    pay(base_node)
    bloom = read_bloom(base_node.block()["logsBloom"])
    recipient = PADDING + OURS.hex()
    assert all(may_hold(bloom, [one]) for one in (USDC.lower(), TRANSFER, recipient))
    assert not may_hold(bloom, [PADDING + "66" * 20])


def pay(node: Anvil) -> None:
    transfer(node, payer(node), USDC, f"0x{OURS.hex()}", 25)


def hides_logs(request: Any, ask: Ask) -> Any:
    answer = ask(request)
    return answer | {"result": []} if request["method"] == "eth_getLogs" else answer


@pytest.fixture
def wrong(base_node: Anvil) -> Iterator[RpcProxy]:
    """A node that tells no logs."""
    with RpcProxy(base_node.url) as wrong:
        wrong.fault = one_by_one(hides_logs)
        yield wrong


@pytest.fixture
def adapter(wrong: RpcProxy) -> Iterator[EvmAdapter]:
    """Reads from the wrong node alone."""
    with opened(spec_of("base", wrong.url)) as adapter:
        yield adapter


def read(adapter: EvmAdapter, since: BlockRef, *, hint: list[bytes] | None) -> list[int]:
    head, ours = adapter.head(), {OURS}
    reading = adapter.read(
        since.height + 1,
        head.block.height,
        head=head,
        hint=None if hint is None else Hint(frozenset(hint)),
        ours=lambda found: found & ours,
    )
    return [one.units for one in reading.transfers]


@pytest.mark.parametrize("hint", [[OURS], [*OTHERS, OURS], None])
def test_what_one_node_leaves_out_another_one_tells(
    base_node: Anvil, wrong: RpcProxy, hint: list[bytes] | None
) -> None:
    with opened(spec_of("base", wrong.url, base_node.url)) as adapter:
        since = adapter.head().block
        pay(base_node)
        base_node.mine(3)
        assert read(adapter, since, hint=hint) == [25]


def test_without_another_node_nothing_is_read_rather_than_too_little(
    base_node: Anvil, wrong: RpcProxy, adapter: EvmAdapter
) -> None:
    since = adapter.head().block
    pay(base_node)
    with pytest.raises(MalformedAnswerError, match="leaves out"):
        read(adapter, since, hint=[OURS])
    wrong.fault = honest
    assert read(adapter, since, hint=[OURS]) == [25]


def test_what_leaves_an_address_is_not_left_out_either(base_node: Anvil, adapter: EvmAdapter) -> None:
    buyer = bytes.fromhex(payer(base_node).address[2:])
    head = adapter.head()
    pay(base_node)
    with pytest.raises(MalformedAnswerError, match="leaves out"):
        adapter.read(
            head.block.height + 1,
            head.block.height + 1,
            head=adapter.head(),
            hint=Hint(frozenset([OURS]), frozenset([buyer])),
            ours=lambda found: found,
        )


def test_who_was_told_of_on_one_side_is_no_sign_of_a_log_on_the_other(
    base_node: Anvil, wrong: RpcProxy, adapter: EvmAdapter
) -> None:
    methods: list[str] = []

    def noting(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        methods.extend(methods_of(request))
        return honest(proxy, request, ask)

    wrong.fault = noting
    since, both = adapter.head().block, frozenset([OURS])
    pay(base_node)
    head = adapter.head()
    reading = adapter.read(
        since.height + 1, head.block.height, head=head, hint=Hint(both, both), ours=lambda found: found & both
    )
    assert [one.units for one in reading.transfers] == [25]
    assert methods.count("eth_getLogs") == 2
    assert "eth_getBlockReceipts" not in methods


@pytest.mark.parametrize("receipts", [None, "logs", [5], [{}], [{"logs": [{}]}]])
def test_receipts_that_cannot_be_read_are_no_proof_of_an_empty_block(
    base_node: Anvil, wrong: RpcProxy, adapter: EvmAdapter, receipts: Any
) -> None:
    def hostile(request: Any, ask: Ask) -> Any:
        answer = hides_logs(request, ask)
        is_asked = request["method"] == "eth_getBlockReceipts"
        return answer | {"result": receipts} if is_asked else answer

    since = adapter.head().block
    pay(base_node)
    wrong.fault = one_by_one(hostile)
    with pytest.raises(MalformedAnswerError):
        read(adapter, since, hint=[OURS])


def refuses_receipts(request: Any, ask: Ask) -> Any:
    """Knows no receipts of whole blocks, as many a provider."""
    if request["method"] != "eth_getBlockReceipts":
        return hides_logs(request, ask)
    error = {"code": -32601, "message": "the method does not exist"}
    return {"jsonrpc": "2.0", "id": request["id"], "error": error}


def is_full(request: Any, ask: Ask) -> Any:
    answer = hides_logs(request, ask)
    return answer | {"result": as_if_busy(answer["result"])}


def sends_too_much(request: Any, ask: Ask) -> Any:
    """Has more receipts of a block than one answer may hold: somebody wrote megabytes into a log."""
    answer = hides_logs(request, ask)
    if request["method"] != "eth_getBlockReceipts":
        return answer
    return answer | {"result": "x" * (MOST_BYTES + 1)}


@pytest.mark.parametrize("fault", [refuses_receipts, sends_too_much, is_full])
def test_where_nothing_can_be_known_the_node_is_believed(
    base_node: Anvil, wrong: RpcProxy, adapter: EvmAdapter, fault: Any
) -> None:
    since = adapter.head().block
    pay(base_node)
    wrong.fault = one_by_one(fault)
    assert read(adapter, since, hint=[OURS]) == []


@pytest.mark.parametrize(
    ("fault", "asked"), [(honest, 0), (one_by_one(is_full), 0), (one_by_one(hides_logs), 1)]
)  # fmt: skip
def test_receipts_are_asked_for_only_where_a_header_contradicts(
    base_node: Anvil, wrong: RpcProxy, adapter: EvmAdapter, fault: Fault, asked: int
) -> None:
    methods: list[str] = []

    def noting(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        methods.extend(methods_of(request))
        return fault(proxy, request, ask)

    since = adapter.head().block
    wrong.fault = noting
    transfer(base_node, payer(base_node), USDC, f"0x{'66' * 20}", 25)
    pay(base_node)
    base_node.mine(5)
    with suppress(MalformedAnswerError):
        read(adapter, since, hint=[OURS])
    assert methods.count("eth_getBlockReceipts") == asked


WORD: Final = "0x" + "ab" * 32
SENDER, RECIPIENT = PADDING + "11" * 20, PADDING + "22" * 20
NO_WORDS: Final[tuple[Any, ...]] = (None, 7, True, ["0x"], {}, "", "ab" * 32, WORD[:-1], WORD + "0")
SPACED: Final = f"0x{'ab' * 31} a"
NO_NUMBERS: Final[tuple[Any, ...]] = (None, 7, True, [], {}, "", "1", "0x", "0xg", "0x 1", "0x1_0")


def told(**fields: Any) -> dict[str, Any]:
    log = {
        "address": "0x" + "aA" * 20,
        "topics": [TRANSFER, SENDER, RECIPIENT],
        "data": f"0x{25:064x}",
        "transactionHash": WORD,
        "blockHash": WORD,
        "blockNumber": "0x1",
        "logIndex": "0x0",
        "removed": False,
    }
    return log | fields


def test_a_topic_with_trons_prefix_byte_names_the_same_recipient() -> None:
    usdt = contract(USDT)
    topics = [TRANSFER, f"0x{'0' * 22}41{'11' * 20}", f"0x{'0' * 22}41{KEY.hex()}"]
    [sided] = sided_logs([told(address=usdt, topics=topics)])
    [read] = transfer_logs([sided], tokens={usdt: None}, paddings=TRON_DIALECT.paddings)
    assert (read.sender, read.recipient) == sided[:2] == (b"\x11" * 20, KEY)


def test_a_log_is_read_in_lower_case() -> None:
    [sided] = sided_logs([told(transactionHash=WORD.replace("b", "B"))])
    read = transfer_log(sided)
    assert (read.tx_hash, read.block_hash) == (WORD, WORD)
    assert (read.token, read.units) == ("0x" + "aa" * 20, 25)
    assert (read.height, read.log_index) == (1, 0)
    assert (read.sender, read.recipient) == (b"\x11" * 20, b"\x22" * 20)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("transactionHash", (*NO_WORDS, SPACED)),
        ("blockHash", (*NO_WORDS, SPACED)),
        ("data", (*NO_WORDS, SPACED, f"0x{'ab' * 31}_a", f"0x{'ab' * 31}٣٣")),
        ("logIndex", NO_NUMBERS),
        ("blockNumber", NO_NUMBERS),
        ("address", (*NO_WORDS, WORD, "0x" + "aa" * 19, f"0x{'aa' * 19} a")),
    ],
)
def test_a_log_with_a_bad_field_is_refused(name: str, values: tuple[Any, ...]) -> None:
    for value in values:
        [sided] = sided_logs([told(**{name: value})])
        with pytest.raises(MalformedAnswerError):
            transfer_log(sided)
    lacking = told()
    del lacking[name]
    [sided] = sided_logs([lacking])
    with pytest.raises(MalformedAnswerError):
        transfer_log(sided)


@pytest.mark.parametrize(
    "topic",
    [
        *NO_WORDS,
        WORD,
        "0X" + SENDER[2:],
        SENDER[:-1] + "g",
        SENDER[:-1] + "٣",
        SENDER[:-2] + "  ",
        f"{PADDING} {'11' * 19} ",
        f"0x{'0' * 22}41{'11' * 20}",
        ["0"] * 66,
    ],
)
@pytest.mark.parametrize("place", [1, 2])
def test_a_log_with_a_bad_side_is_refused(topic: Any, place: int) -> None:
    topics: list[Any] = [TRANSFER, SENDER, RECIPIENT]
    topics[place] = topic
    with pytest.raises(MalformedAnswerError):
        transfer_logs(sided_logs([told(topics=topics)]), tokens={})


@pytest.mark.parametrize("logs", [None, {}, "0x", [None], ["log"], [[]], [{}]])
def test_an_answer_without_logs_is_refused(logs: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        sided_logs(logs)


def test_a_removed_log_is_a_reorganisation() -> None:
    [sided] = sided_logs([told(removed=True)])
    with pytest.raises(ReorgDuringReadError):
        transfer_log(sided)
