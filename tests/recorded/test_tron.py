"""Tron's adapters read what mainnet nodes answered, and write what wallets there signed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import base58
import pytest

from tests.recorded.replay import Replay
from tests.recorded.samples import sample
from tests.recorded.stages import mainnet
from wallets.chains.base import BlockRef, MalformedAnswerError
from wallets.chains.evm.decode import sided_logs
from wallets.chains.tron.family import TRON_FAMILY
from wallets.chains.tron.grid import TronGridSource
from wallets.chains.tron.unsigned_payment import Anchor, ContractCall

HISTORY = sample("tron_v1_trc20_history.usdt_derived").response
DETAIL = sample("tron_gettransactioninfobyid.usdt_transfer").response
SIGNED = sample("tron_gettransactionbyid.usdt_transfer").response
LOGS = sample("tron_jsonrpc.eth_getLogs").result


def block(document: Any) -> Any:
    """The block of the recorded transaction, as far as that tells it: no sample has one."""
    height = int(document["id_or_num"])
    raw = {"number": height, "parentHash": "00" * 32, "timestamp": DETAIL["blockTimeStamp"]}
    return {"blockID": f"{height:064x}", "block_header": {"raw_data": raw}}


def test_a_recorded_transfer_is_told_by_the_second_source() -> None:
    [row] = HISTORY["data"]
    height = DETAIL["blockNumber"]
    time = datetime.fromtimestamp(DETAIL["blockTimeStamp"] // 1000, UTC)
    told = {
        f"GET /v1/accounts/{row['to']}/transactions/trc20": HISTORY,
        "POST /walletsolidity/gettransactioninfobyid": DETAIL,
        "POST /walletsolidity/getblock": block,
    }
    first = BlockRef(height - 1, "", "", time - timedelta(seconds=3))
    last = BlockRef(height, f"0x{height:064x}", "", time)
    with Replay(told) as grid:
        source = TronGridSource(mainnet("tron", grid.url), grid.url)
        key = TRON_FAMILY.address_key(row["to"])
        [transfer] = source.transfers([key], first, last)
        source.close()
    assert grid.unanswered == []
    assert (transfer.tx_hash, transfer.units) == (DETAIL["id"], 100_000)
    assert (transfer.sender, transfer.recipient) == (row["from"], row["to"])
    assert (transfer.token, transfer.position) == ("USDT", 0)


def test_a_recorded_transaction_is_written_byte_for_byte() -> None:
    told = SIGNED["raw_data"]
    value = told["contract"][0]["parameter"]["value"]

    def written(prefixed: str) -> str:
        return base58.b58encode_check(bytes.fromhex(prefixed)).decode()

    call = ContractCall(
        owner=written(value["owner_address"]),
        contract=written(value["contract_address"]),
        # Its recipient has Tron's prefix byte in front, as some wallets write it.
        data=bytes.fromhex(value["data"]),
        anchor=Anchor(
            height=int(told["ref_block_bytes"], 16),
            block_id=bytes(8) + bytes.fromhex(told["ref_block_hash"]) + bytes(16),
        ),
        timestamp=told["timestamp"],
        expiration=told["expiration"],
        fee_limit=told["fee_limit"],
    )
    document = call.document()
    assert document["raw_data_hex"] == SIGNED["raw_data_hex"]
    assert document["txID"] == SIGNED["txID"]
    assert document["raw_data"] == told


def test_a_recorded_log_of_another_event_is_refused() -> None:
    with pytest.raises(MalformedAnswerError, match="another event"):
        sided_logs(LOGS)
