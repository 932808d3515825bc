"""Wallets of EVM chains and Tron send exactly the amount."""

from demo.localnet.anvil import Anvil
from demo.localnet.tron import TronNode
from demo.seed import RECEIVING_WALLETS
from demo.wallet import pay
from tests.demo.addresses import evm_balance, evm_entry, tron_balance, tron_entry
from tests.demo.test_wallet import AMOUNT, BUYER, UNITS


def test_an_evm_wallet_sends_exactly_the_amount(base_node: Anvil) -> None:
    tx_hash = pay(evm_entry(base_node), token="USDC", to=BUYER, amount=AMOUNT)
    assert base_node.receipt(tx_hash)["status"] == "0x1"
    assert evm_balance(base_node)(BUYER) == UNITS


def test_a_tron_wallet_takes_trons_addresses_and_writes_its_hashes(tron_node: TronNode) -> None:
    to = RECEIVING_WALLETS["tron"]
    tx_hash = pay(tron_entry(tron_node), token="USDT", to=to, amount=AMOUNT)
    assert tron_node.anvil.receipt(f"0x{tx_hash}")["status"] == "0x1"
    assert tron_balance(tron_node)(to) == UNITS
