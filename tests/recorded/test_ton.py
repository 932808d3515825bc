"""The TON adapter reads what toncenter answered."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.recorded.replay import Raw, Replay
from tests.recorded.samples import sample
from tests.recorded.stages import mainnet, opened
from wallets.chains.base import ChainUnavailableError
from wallets.chains.rpc.client import Node
from wallets.chains.ton.adapter import TonAdapter
from wallets.chains.ton.cells import Slice, read_cells
from wallets.chains.ton.decode import body_bytes
from wallets.chains.ton.family import TON_FAMILY
from wallets.chains.ton.questions import ask_head, list_receipts, list_transfers, lone_transactions

MASTERCHAIN = sample("ton_v3_masterchainInfo").response
USDT_LISTING = sample("ton_v3_jetton_transfers.usdt_2024").response
FOREIGN_LISTING = sample("ton_v3_jetton_transfers.2026_fields").response
SENT = sample("ton_v3_transactions.jetton_transfer_sender_success").response
ABORTED = sample("ton_v3_transactions.aborted").response
NOTIFICATION = sample("ton_v2_getTransactions.transfer_notification").response
WITH_COMMENT = sample("tonapi_v2_transaction.with_comment").response
RATE_LIMITED = sample("ton_rate_limited").response

USDT = "0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE"


def key(address: str) -> bytes:
    return TON_FAMILY.address_key(address)


def hash_of(text: str) -> str:
    return body_bytes(text).hex()


def oldest_first(answer: Any) -> Any:
    """A listing in the order that the adapter asks for; it was recorded with the newest first."""
    return answer | {"jetton_transfers": answer["jetton_transfers"][::-1]}


@contextmanager
def node_with(answers: dict[str, Any]) -> Iterator[Node]:
    with Replay(answers) as replay:
        node = Node(replay.url)
        yield node
        node.close()


@contextmanager
def adapter_with(answers: dict[str, Any]) -> Iterator[TonAdapter]:
    told = {"GET /masterchainInfo": MASTERCHAIN} | answers
    with Replay(told) as node, opened(mainnet("ton", node.url), TonAdapter) as adapter:
        yield adapter


def test_the_recorded_masterchain_is_known_as_the_main_network() -> None:
    with adapter_with({}) as adapter:
        head = adapter.head()
        assert head.block.height == 51_317_643
        assert head.block.time == datetime.fromtimestamp(1_756_242_080, UTC)
        assert adapter.finalized() == 51_317_642
        assert adapter.genesis() == hash_of(MASTERCHAIN["first"]["root_hash"])


def test_a_recorded_listing_without_the_newer_fields_is_read() -> None:
    rows = USDT_LISTING["jetton_transfers"]
    owner = key(rows[0]["destination"])
    with node_with({"GET /jetton/transfers": oldest_first(USDT_LISTING)}) as node:
        listed, cut = list_transfers(node, {owner}, master=key(USDT), since=1_716_867_000, page=1_000)
    assert cut is None
    assert [one.tx_hash for one in listed] == [hash_of(row["transaction_hash"]) for row in rows[::-1]]
    assert {one.wallet for one in listed} == {key(rows[0]["source_wallet"])}
    assert {one.sender for one in listed} == {key(rows[0]["source"])}


def test_a_recorded_row_of_a_foreign_jetton_is_read_and_is_none_of_ours() -> None:
    [row] = FOREIGN_LISTING["jetton_transfers"]
    owner = key(row["destination"])
    with node_with({"GET /jetton/transfers": FOREIGN_LISTING}) as node:

        def read(master: str) -> list[Any]:
            return list_transfers(node, {owner}, master=key(master), since=1_785_330_000, page=1_000)[0]

        assert read(USDT) == []
        assert [one.lt for one in read(row["jetton_master"])] == [93_307_129_000_003]


@pytest.mark.parametrize("answer", [SENT, ABORTED], ids=["sent", "aborted"])
def test_recorded_transactions_that_brought_no_jettons_are_no_receipts(answer: Any) -> None:
    rows = sorted(answer["transactions"], key=lambda row: row["now"])
    accounts = {key(row["account"]) for row in rows}
    told = answer | {"transactions": rows}
    with node_with({"GET /transactions": told}) as node:
        receipts, cut = list_receipts(node, accounts, since=rows[0]["now"], page=1_000)
    assert (receipts, cut) == ([], None)


def test_the_recorded_transaction_of_a_payers_wallet_is_looked_up() -> None:
    [row] = SENT["transactions"]
    # An index answers so where a trace is too long to be told: the transaction itself is asked for.
    untold: dict[str, Any] = {"traces": [{"external_hash": None, "transactions": {}}]}
    with adapter_with({"GET /traces": untold, "GET /transactions": SENT}) as adapter:
        found = adapter.find(hash_of(row["hash"]))
    assert found is not None
    assert (found.succeeded, found.is_final) == (True, True)
    assert found.block_height == row["mc_block_seqno"]
    assert list(found.movements) == []


def test_coin_that_an_aborted_transaction_kept_is_told() -> None:
    kept, sent = ABORTED["transactions"]
    assert kept["trace_id"] == sent["trace_id"]
    # The trace is put together of the two recorded transactions that name it.
    trace = {"external_hash": None, "is_incomplete": False, "transactions": {row["hash"]: row for row in (kept, sent)}}
    with adapter_with({"GET /traces": {"traces": [trace]}}) as adapter:
        found = adapter.find(hash_of(kept["hash"]))
    assert found is not None
    [coin] = found.movements
    assert (coin.token, coin.units) == (None, 3_000_000_000)
    assert coin.recipient_key == key(kept["account"])
    assert lone_transactions(ABORTED)[0].steps[0].has_failed
    assert int(kept["account_state_after"]["balance"]) == coin.units


def test_a_recorded_rate_limit_makes_the_node_unavailable() -> None:
    limited = Raw(RATE_LIMITED["code"], RATE_LIMITED)
    with (
        node_with({"GET /masterchainInfo": limited}) as node,
        pytest.raises(ChainUnavailableError, match="limits our rate"),
    ):
        ask_head(node)


def test_recorded_cells_are_read() -> None:
    """The bodies of interfaces that no adapter asks: with a checksum in base64, and without one in hexadecimal."""
    body = NOTIFICATION["result"][0]["in_msg"]["msg_data"]["body"]
    assert Slice(read_cells(body_bytes(body))).unsigned(32) == 0x7362D09C
    [sent] = SENT["transactions"][0]["out_msgs"]
    message = Slice(read_cells(body_bytes(sent["message_content"]["body"])))
    assert message.unsigned(32) == 0x0F8A7EA5
    message.unsigned(64)
    assert message.coins() == 100_000
    text = Slice(read_cells(bytes.fromhex(WITH_COMMENT["out_msgs"][0]["raw_body"])))
    assert (text.unsigned(32), text.rest()) == (0, b"hello-123")
