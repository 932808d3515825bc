"""A chain is made ready once: its contracts are deployed, and the payer is funded."""

from demo.localnet.anvil import Anvil
from demo.localnet.funding import PAYER_UNITS, payer, prepare_chain
from demo.localnet.tokens import balance_of, token_address, transfer
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum


def test_what_is_there_already_is_left_as_it_is(base_node: Anvil) -> None:
    tokens = prepare_chain(base_node)
    assert tokens == {symbol: token_address(symbol) for symbol in ("USDC", "USDT")}
    assert base_node.code(checksum(FACTORY_ADDRESS))
    sender, to = payer(base_node), base_node.accounts[8].address
    assert balance_of(base_node, tokens["USDT"], sender.address) == PAYER_UNITS
    transfer(base_node, sender, tokens["USDC"], to, 7)
    left, height = (balance_of(base_node, tokens["USDC"], sender.address), base_node.block_number())
    assert prepare_chain(base_node) == tokens
    assert balance_of(base_node, tokens["USDC"], sender.address) == left
    assert base_node.block_number() == height
