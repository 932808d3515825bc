"""Balances on EVM chains are the token contracts' own, all at one block."""

from dataclasses import replace
from typing import Any

import pytest
from eth_abi.abi import encode

from localnet.anvil import Anvil
from localnet.authorizations import lay_eurc
from localnet.funding import payer
from localnet.permit2 import lay_multicall
from localnet.tokens import balance_of, token_address, transfer
from tests.nodes.proxy import RpcProxy, one_by_one, results
from tests.wallets.chains.examples import EVM
from tests.wallets.factories import local_spec
from wallets.chains.base import MalformedAnswerError, ReorgDuringReadError
from wallets.chains.evm.address import address_key
from wallets.chains.evm.balances import MULTICALL, EvmHoldings, balances_of
from wallets.chains.evm.decode import ETHEREUM_DIALECT
from wallets.chains.registry import open_pool

USDC, USDT = token_address("USDC"), token_address("USDT")
KEY = address_key(EVM)


def test_every_accepted_token_of_every_account_is_told(polygon_node: Anvil) -> None:
    transfer(polygon_node, payer(polygon_node), USDC, EVM, 7)
    sender = payer(polygon_node).address
    spec = local_spec(polygon_node.url, chain="polygon")
    pool = open_pool(spec)
    accounts = {KEY: EVM, address_key(sender): sender}
    told = EvmHoldings(spec, pool, ETHEREUM_DIALECT).read(accounts)
    pool.close()
    assert told.height == polygon_node.block_number()
    assert told.units == {
        address_key(who): {"USDC": balance_of(polygon_node, USDC, who), "USDT": balance_of(polygon_node, USDT, who)}
        for who in (EVM, sender)
    }
    assert told.units[KEY]["USDC"] == 7


def test_a_token_that_machines_alone_pay_with_is_told_too(base_node: Anvil) -> None:
    eurc = lay_eurc(base_node)
    transfer(base_node, payer(base_node), eurc, EVM, 5_000_000)
    spec = local_spec(base_node.url, TOKENS="USDC,EURC")
    pool = open_pool(spec)
    told = EvmHoldings(spec, pool, ETHEREUM_DIALECT).read({KEY: EVM})
    pool.close()
    assert told.units[KEY]["EURC"] == 5_000_000


@pytest.mark.parametrize("answer", [None, "0x", "7", 7, "0x" + "f" * 65], ids=repr)
def test_an_answer_that_is_no_word_is_refused(polygon_node: Anvil, answer: object) -> None:
    with RpcProxy(polygon_node.url) as proxy:
        proxy.fault = results(lambda method, told: answer if method == "eth_call" else told)
        spec = local_spec(proxy.url, chain="polygon")
        pool = open_pool(spec)
        with pytest.raises(MalformedAnswerError):
            EvmHoldings(spec, pool, ETHEREUM_DIALECT).read({KEY: EVM})
        pool.close()


def test_where_a_node_keeps_no_states_a_new_block_spoils_the_reading(polygon_node: Anvil) -> None:
    heights = iter(["0x7", "0x8"])
    with RpcProxy(polygon_node.url) as proxy:
        proxy.fault = results(lambda method, told: next(heights) if method == "eth_blockNumber" else told)
        spec = local_spec(proxy.url, chain="polygon")
        pool = open_pool(spec)
        with pytest.raises(ReorgDuringReadError):
            EvmHoldings(spec, pool, replace(ETHEREUM_DIALECT, keeps_states=False)).read({KEY: EVM})
        pool.close()


# Many holders of one token.


def aggregated(*words: bytes) -> str:
    """Multicall3's answer, as a node gives it."""
    return "0x" + encode(("uint256", "bytes[]"), (9, words)).hex()


SEVEN, EIGHT = (7).to_bytes(32), (8).to_bytes(32)
RIGHT = aggregated(SEVEN, EIGHT)
NOT_SO = {
    "refused": {"error": {"code": -32000, "message": "out of gas"}},
    "a number": 7,
    "no contract": "0x",
    "cut off": RIGHT[:-64],
    "longer": RIGHT + "0" * 64,
    "no hex": RIGHT.replace("7", "x"),
    "a byte less": aggregated(SEVEN, EIGHT[1:]),
    "a part less": aggregated(SEVEN).ljust(len(RIGHT), "0"),
    "a list elsewhere": RIGHT.replace(f"{0x40:064x}", "f" * 64, 1),
}


def balances(node: Anvil, answer: object = None) -> tuple[list[int], int]:
    """The payer's and a stranger's balances, and how many calls it took; `answer` replaces Multicall3's."""
    calls: list[str] = []

    def told(proxy: RpcProxy, request: Any, ask: Any) -> Any:
        def each(one: Any, ask_one: Any) -> Any:
            if one["method"] != "eth_call":
                return ask_one(one)
            calls.append(one["params"][0]["to"])
            if answer is None or calls[-1] != MULTICALL:
                return ask_one(one)
            return {"jsonrpc": "2.0", "id": one["id"]} | (answer if isinstance(answer, dict) else {"result": answer})

        return one_by_one(each)(proxy, request, ask)

    with RpcProxy(node.url) as proxy:
        proxy.fault = told
        pool = open_pool(local_spec(proxy.url, chain="polygon"))
        holders = [address_key(payer(node).address), KEY]
        found = pool.run(lambda one: balances_of(one, USDC, holders, height=node.block_number()))
        pool.close()
    return found, len(calls)


def truth(node: Anvil) -> list[int]:
    return [balance_of(node, USDC, payer(node).address), balance_of(node, USDC, EVM)]


def test_multicall_tells_all_balances_in_one_call(polygon_node: Anvil) -> None:
    lay_multicall(polygon_node)
    transfer(polygon_node, payer(polygon_node), USDC, EVM, 7)
    assert balances(polygon_node) == (truth(polygon_node), 1)
    assert balances(polygon_node, RIGHT) == ([7, 8], 1)


@pytest.mark.parametrize("answer", NOT_SO.values(), ids=NOT_SO)
def test_where_multicall_answers_otherwise_each_balance_is_asked_for(polygon_node: Anvil, answer: object) -> None:
    assert balances(polygon_node, answer) == (truth(polygon_node), 3)


def test_a_chain_without_multicall_is_asked_for_each(polygon_node: Anvil) -> None:
    assert balances(polygon_node) == (truth(polygon_node), 3)
