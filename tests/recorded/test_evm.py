"""The EVM adapter reads what mainnet nodes answered."""

from typing import Any

import pytest

from tests.recorded.replay import Refusal, Replay
from tests.recorded.samples import sample
from tests.recorded.stages import ARBITRUM_ID, ARBITRUM_USDT, ETHEREUM_ID, evm_header, mainnet, opened
from wallets.chains.base import ChainUnavailableError, Head, Hint, RangeTooLargeError, Reading
from wallets.chains.evm import decode
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.find import by_number
from wallets.chains.family import ChainSpec
from wallets.chains.rpc.client import Node

ETHEREUM = ("evm_ethereum_usdc", ETHEREUM_ID)
ARBITRUM = ("evm_arbitrum_usdt_plain_transfer", ARBITRUM_ID)
BUYERS = "0x0d9dab1a248f63b0a48965ba8435e4de7497a3dc"
ROUTER = "0x5ae13baaef0620fdae1d355495dc51a17adb4082"
ERRORS = sample("evm_getLogs.errors").response


def spec_on(place: tuple[str, str], *urls: str) -> ChainSpec:
    """Ethereum, or what stands for the recorded chain where it is none of ours."""
    if place == ETHEREUM:
        return mainnet("ethereum", *urls)
    settings = {"CHAIN_ID": str(int(ARBITRUM_ID, 16)), "TOKEN_USDT": ARBITRUM_USDT}
    return mainnet("ethereum", *urls, **settings)


def answers(place: tuple[str, str]) -> dict[str, Any]:
    name, chain_id = place
    receipt = sample(f"{name}.receipt").result
    return {
        "eth_chainId": chain_id,
        "eth_getTransactionReceipt": receipt,
        "eth_getLogs": sample(f"{name}.getLogs").result,
        "eth_getBlockByNumber": evm_header(receipt),
        "eth_getBlockByHash": evm_header(receipt),
    }


def read_block(place: tuple[str, str], recipient: str, *, depth: int) -> Reading:
    """Read the recorded block, that far below the head: as a range, or by its hash near the head."""
    told = answers(place)
    block = decode.block_ref(told["eth_getBlockByNumber"])
    newest = decode.Header(block.height + depth, block.hash, "", block.time)
    key = bytes.fromhex(recipient[2:])
    with Replay(told) as node, opened(spec_on(place, node.url), EvmAdapter) as adapter:
        return adapter.read(
            block.height,
            block.height,
            head=Head(newest, agreed=True),
            hint=Hint(frozenset({key})),
            ours=lambda found: found & {key},
        )


@pytest.mark.parametrize("depth", [10, 1_000], ids=["by block", "as a range"])
def test_a_recorded_usdc_transfer_is_read_beside_a_permits_log(depth: int) -> None:
    [transfer] = read_block(ETHEREUM, BUYERS, depth=depth).transfers
    assert (transfer.token, transfer.units, transfer.position) == ("USDC", 150_000, 0)
    assert transfer.recipient.lower() == BUYERS
    assert transfer.tx_hash == sample("evm_ethereum_usdc.receipt").request["params"][0]


@pytest.mark.parametrize("depth", [10, 1_000], ids=["by block", "as a range"])
def test_a_recorded_usdt_transfer_of_a_rollup_is_read(depth: int) -> None:
    recipient = "0x2fc617e933a52713247ce25730f6695920b3befe"
    [transfer] = read_block(ARBITRUM, recipient, depth=depth).transfers
    assert (transfer.token, transfer.units) == ("USDT", 0x49430C)


def test_a_second_node_confirms_a_transfer_by_its_recorded_receipt() -> None:
    [transfer] = read_block(ETHEREUM, BUYERS, depth=10).transfers
    told = answers(ETHEREUM)
    with Replay(told) as first, Replay(told) as second:
        spec = spec_on(ETHEREUM, first.url, second.url)
        with opened(spec, EvmAdapter) as adapter:
            assert adapter.witness([transfer]) == [True]


def test_a_recorded_swap_is_looked_up_with_its_foreign_tokens() -> None:
    receipt = sample("evm_ethereum_usdc.receipt").result
    # What a transaction's own answer shares with its receipt; `value` is not in there.
    shared = ("blockHash", "blockNumber", "from", "to", "transactionIndex")
    order = {name: receipt[name] for name in shared}
    order["hash"] = receipt["transactionHash"]
    told = answers(ETHEREUM) | {"eth_getTransactionByHash": order}
    with Replay(told) as node, opened(spec_on(ETHEREUM, node.url), EvmAdapter) as adapter:
        found = adapter.find(receipt["transactionHash"])
    assert found is not None
    assert found.succeeded
    moved = [(one.position, one.token, one.units) for one in found.movements]
    # PAXG is no token of ours; its second log moved nothing.
    assert moved == [(0, "USDC", 150_000), (1, None, 0x20090E68FE5569), (3, "USDC", 0x1C77990)]
    assert found.movements[2].recipient.lower() == ROUTER
    assert [one.position for one in found.transfers] == [0, 3]


def refused_logs(error: Any) -> None:
    with Replay({"eth_getLogs": Refusal(error)}) as replay:
        node = Node(replay.url)
        try:
            node.call("eth_getLogs", [{}])
        finally:
            node.close()


def error_of(told: Any) -> Any:
    """The error object of a recorded refusal; of some only the message, or a part of it, was kept."""
    if "error" in told:
        return told["error"]
    return {"code": -32000, "message": told.get("message") or told["message_contains"]}


@pytest.mark.parametrize("told", ERRORS[:-1], ids=[one["provider"] for one in ERRORS[:-1]])
def test_a_recorded_refusal_of_a_range_asks_for_a_smaller_one(told: Any) -> None:
    with pytest.raises(RangeTooLargeError):
        refused_logs(error_of(told))


def test_a_node_whose_head_is_below_the_range_is_unavailable() -> None:
    assert ERRORS[-1]["provider"] == "lagging node"
    with pytest.raises(ChainUnavailableError):
        refused_logs(error_of(ERRORS[-1]))


def test_another_node_is_asked_when_one_is_below_the_range() -> None:
    told = answers(ETHEREUM)
    header = told["eth_getBlockByNumber"]
    told["eth_getBlockByNumber"] = lambda params: header | {"number": params[0]}
    lagging = told | {"eth_getLogs": Refusal(error_of(ERRORS[-1]))}
    block = decode.block_ref(header)
    newest = decode.Header(block.height + 1_000, block.hash, "", block.time)
    key = bytes.fromhex(BUYERS[2:])
    with Replay(lagging) as first, Replay(told) as second:
        spec = spec_on(ETHEREUM, first.url, second.url)
        with opened(spec, EvmAdapter) as adapter:
            reading = adapter.read(
                block.height - 1,
                block.height,
                head=Head(newest, agreed=True),
                hint=Hint(frozenset({key})),
                ours=lambda found: found & {key},
            )
    assert len(reading.transfers) == 1


def test_the_finalized_block_is_asked_for_as_the_proposal_has_it() -> None:
    request = sample("evm_polygon.finalized_block").request
    method, params = by_number("finalized")
    assert (method, params[0]) == (request["method"], request["params"][0])
