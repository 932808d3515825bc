"""Paying on a node that mines by itself, and waiting for the block: the node answers before it has mined."""

from localnet import tokens
from localnet.anvil import Anvil, FundedAccount


def transfer(node: Anvil, payer: FundedAccount, token: str, to: str, units: int) -> str:
    """Pay; return the transaction hash once it is in a block."""
    return _mined(node, tokens.transfer(node, payer, token, to, units))


def transfer_many(node: Anvil, payer: FundedAccount, token: str, payments: list[tuple[str, int]]) -> str:
    """Pay several in one transaction; return its hash once it is in a block."""
    return _mined(node, tokens.transfer_many(node, payer, token, payments))


def mint(node: Anvil, token: str, to: str, units: int) -> str:
    """Make tokens; return the transaction hash once it is in a block."""
    return _mined(node, tokens.mint(node, token, to, units))


def send_raw(node: Anvil, raw: str) -> str:
    """Send a signed transaction; return its hash once it is in a block."""
    sent: str = node.rpc("eth_sendRawTransaction", raw)
    return _mined(node, sent)


def _mined(node: Anvil, tx_hash: str) -> str:
    node.receipt(tx_hash)
    return tx_hash
