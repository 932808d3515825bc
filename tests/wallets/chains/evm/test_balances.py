"""Balances on EVM chains are the token contracts' own, all at one block."""

from dataclasses import replace

import pytest

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of, token_address, transfer
from tests.nodes.proxy import RpcProxy, results
from tests.wallets.chains.examples import EVM
from tests.wallets.factories import local_spec
from wallets.chains.base import MalformedAnswerError, ReorgDuringReadError
from wallets.chains.evm.address import address_key
from wallets.chains.evm.balances import EvmHoldings
from wallets.chains.evm.decode import ETHEREUM
from wallets.chains.registry import open_pool

USDC, USDT = token_address("USDC"), token_address("USDT")
KEY = address_key(EVM)


def test_every_accepted_token_of_every_account_is_told(polygon_node: Anvil) -> None:
    transfer(polygon_node, payer(polygon_node), USDC, EVM, 7)
    sender = payer(polygon_node).address
    spec = local_spec(polygon_node.url, chain="polygon")
    pool = open_pool(spec)
    accounts = {KEY: EVM, address_key(sender): sender}
    told = EvmHoldings(spec, pool, ETHEREUM).read(accounts)
    pool.close()
    assert told.height == polygon_node.block_number()
    assert told.units == {
        address_key(who): {"USDC": balance_of(polygon_node, USDC, who), "USDT": balance_of(polygon_node, USDT, who)}
        for who in (EVM, sender)
    }
    assert told.units[KEY]["USDC"] == 7


@pytest.mark.parametrize("answer", [None, "0x", "7", 7, "0x" + "f" * 65], ids=repr)
def test_an_answer_that_is_no_word_is_refused(polygon_node: Anvil, answer: object) -> None:
    with RpcProxy(polygon_node.url) as proxy:
        proxy.fault = results(lambda method, told: answer if method == "eth_call" else told)
        spec = local_spec(proxy.url, chain="polygon")
        pool = open_pool(spec)
        with pytest.raises(MalformedAnswerError):
            EvmHoldings(spec, pool, ETHEREUM).read({KEY: EVM})
        pool.close()


def test_where_a_node_keeps_no_states_a_new_block_spoils_the_reading(polygon_node: Anvil) -> None:
    heights = iter(["0x7", "0x8"])
    with RpcProxy(polygon_node.url) as proxy:
        proxy.fault = results(lambda method, told: next(heights) if method == "eth_blockNumber" else told)
        spec = local_spec(proxy.url, chain="polygon")
        pool = open_pool(spec)
        with pytest.raises(ReorgDuringReadError):
            EvmHoldings(spec, pool, replace(ETHEREUM, keeps_states=False)).read({KEY: EVM})
        pool.close()
