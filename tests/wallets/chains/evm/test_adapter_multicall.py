"""One transaction of Multicall3, as published, that moves several tokens, several times and back: each log is a transfer."""

import pytest
from eth_account import Account

from localnet.abi import encode_call
from localnet.anvil import Anvil, FundedAccount
from localnet.funding import payer
from localnet.permit2 import MULTICALL3, lay_multicall
from localnet.tokens import execute, token_address
from tests.wallets.evmkin import opened, read_whole
from tests.wallets.factories import local_spec
from wallets.chains.evm.address import address_key

USDC, USDT = token_address("USDC"), token_address("USDT")


@pytest.fixture
def shop(polygon_node: Anvil) -> FundedAccount:
    """A merchant's own account on Polygon, where Multicall3 may move its money and the payer's."""
    made = Account.create()
    polygon_node.rpc("anvil_setBalance", made.address, hex(10**20))
    account = FundedAccount(made.address, made.key.to_0x_hex())
    lay_multicall(polygon_node)
    for who in (account, payer(polygon_node)):
        for token in (USDC, USDT):
            execute(polygon_node, who, token, "approve(address,uint256)", MULTICALL3, 2**200)
    return account


def test_each_log_is_a_transfer_and_nothing_is_added_up_or_netted(polygon_node: Anvil, shop: FundedAccount) -> None:
    buyer, stranger = payer(polygon_node).address, polygon_node.accounts[7].address
    moves = [
        (USDC, buyer, shop.address, 5),
        (USDT, buyer, shop.address, 5),
        (USDC, buyer, stranger, 9),
        (USDC, buyer, shop.address, 5),
        (USDC, shop.address, buyer, 4),
        (USDT, buyer, shop.address, 7),
    ]
    calls = [
        (token, encode_call("transferFrom(address,address,uint256)", giver, taker, units))
        for token, giver, taker, units in moves
    ]
    sent = execute(polygon_node, payer(polygon_node), MULTICALL3, "aggregate((address,bytes)[])", calls)
    with opened(local_spec(polygon_node.url, chain="polygon")) as adapter:
        found = [one for one in read_whole(adapter, {address_key(shop.address)}) if one.tx_hash == sent]
        came = [one for one in found if one.recipient_key == address_key(shop.address)]
        told = [(one.position, one.token, one.units, one.sender) for one in came]
        assert told == [(0, "USDC", 5, buyer), (1, "USDT", 5, buyer), (3, "USDC", 5, buyer), (5, "USDT", 7, buyer)]
