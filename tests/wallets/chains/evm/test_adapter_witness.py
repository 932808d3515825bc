"""A second node is asked about large amounts: it must tell the very same, or it is no witness."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.evmkin import opened, read_whole, spec_of
from tests.wallets.paying import transfer, transfer_many
from wallets.chains.base import ChainError, TokenTransfer
from wallets.chains.evm.adapter import EvmAdapter

USDC = token_address("USDC")
KEY = bytes(range(1, 21))
WALLET = f"0x{KEY.hex()}"


@pytest.fixture
def second(ethereum_node: Anvil) -> Iterator[RpcProxy]:
    with RpcProxy(ethereum_node.url) as proxy:
        yield proxy


@pytest.fixture
def adapter(ethereum_node: Anvil, second: RpcProxy) -> Iterator[EvmAdapter]:
    with opened(spec_of("ethereum", ethereum_node.url, second.url)) as adapter:
        yield adapter


@pytest.fixture
def paid(ethereum_node: Anvil, adapter: EvmAdapter) -> list[TokenTransfer]:
    transfer_many(ethereum_node, payer(ethereum_node), USDC, [(WALLET, 25), (WALLET, 25)])
    transfer(ethereum_node, payer(ethereum_node), USDC, WALLET, 7)
    return read_whole(adapter, {KEY})


def receipts(change: Callable[[Any], Any]) -> faults.Fault:
    return faults.results(lambda method, result: change(result) if method == "eth_getTransactionReceipt" else result)


def with_log(**fields: Any) -> faults.Fault:
    return receipts(lambda told: told | {"logs": [log | fields for log in told["logs"]]})


def test_what_the_second_node_tells_too_is_witnessed(
    adapter: EvmAdapter, paid: list[TokenTransfer], second: RpcProxy
) -> None:
    before = second.requests
    assert len(paid) == 3
    assert adapter.witness(paid) == [True, True, True]
    assert second.requests > before


@pytest.mark.parametrize(
    "changed",
    [
        {"units": 26},
        {"position": 2},
        {"recipient_key": bytes(19) + b"\x09"},
        {"block_hash": "0x" + "ab" * 32},
        {"tx_hash": "0x" + "cd" * 32},
        {"token_address": token_address("USDT")},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_transfer_that_differs_in_anything_is_not_witnessed(
    adapter: EvmAdapter, paid: list[TokenTransfer], changed: dict[str, Any]
) -> None:
    assert adapter.witness([replace(paid[0], **changed), paid[1]]) == [False, True]


@pytest.mark.parametrize(
    "fault",
    [
        receipts(lambda _: None),
        receipts(lambda told: told | {"status": "0x0"}),
        receipts(lambda told: told | {"blockHash": "0x" + "ab" * 32}),
        with_log(data="0x" + f"{26:064x}"),
        with_log(address="0x" + "66" * 20),
    ],
    ids=["unknown", "failed", "another block", "another amount", "another token"],
)
def test_a_second_node_that_tells_otherwise_is_no_witness(
    adapter: EvmAdapter, paid: list[TokenTransfer], second: RpcProxy, fault: faults.Fault
) -> None:
    second.fault = fault
    assert adapter.witness(paid) == [False, False, False]


@pytest.mark.parametrize(
    "fault",
    [
        faults.drops,
        faults.limits_rate,
        faults.garbage(),
        receipts(lambda _: "0x"),
        with_log(data="0x"),
        with_log(address=None),
    ],
    ids=["drops", "429", "garbage", "text", "no data", "no emitter"],
)
def test_a_second_node_that_cannot_be_understood_says_nothing_either_way(
    adapter: EvmAdapter, paid: list[TokenTransfer], second: RpcProxy, fault: faults.Fault
) -> None:
    second.fault = fault
    with pytest.raises(ChainError):
        adapter.witness(paid)


def test_odd_logs_of_other_contracts_keep_nothing_from_being_witnessed(
    adapter: EvmAdapter, paid: list[TokenTransfer], second: RpcProxy
) -> None:
    def with_odd_log(told: Any) -> Any:
        last = told["logs"][-1]
        index = hex(int(last["logIndex"], 16) + 1)
        odd = last | {"address": "0x" + "66" * 20, "data": "0x", "logIndex": index}
        return told | {"logs": [*told["logs"], odd]}

    second.fault = receipts(with_odd_log)
    assert adapter.witness(paid) == [True, True, True]
