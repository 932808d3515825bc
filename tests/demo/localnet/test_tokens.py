"""Test tokens, and transfers of them."""

import pytest

from demo.localnet.anvil import Anvil
from demo.localnet.errors import NodeError
from demo.localnet.funding import payer
from demo.localnet.tokens import FAKE, balance_of, deploy_token, read, transfer, transfer_many
from tests.demo.localnet.test_anvil import USDC
from wallets.forwarders.addresses import checksum

MANY = 500


def test_a_fake_token_has_the_same_symbol_and_another_address(base_node: Anvil) -> None:
    fake = deploy_token(base_node, "USDC", salt=FAKE)
    assert fake != USDC
    assert read(base_node, fake, "symbol()") == read(base_node, USDC, "symbol()")
    assert int(read(base_node, fake, "decimals()"), 16) == 6


def test_one_transaction_makes_hundreds_of_transfers(base_node: Anvil) -> None:
    wallets = [checksum(number.to_bytes(20, "big")) for number in range(1000, 1000 + MANY)]
    payments = [(wallet, units) for units, wallet in enumerate(wallets, start=1)]
    tx_hash = transfer_many(base_node, payer(base_node), USDC, payments)
    assert len(base_node.receipt(tx_hash)["logs"]) == MANY
    assert balance_of(base_node, USDC, wallets[-1]) == MANY


def test_a_transfer_that_reverts_is_an_error(base_node: Anvil) -> None:
    pauper = base_node.accounts[6]
    with pytest.raises(NodeError, match="reverted"):
        transfer(base_node, pauper, USDC, payer(base_node).address, 1)
