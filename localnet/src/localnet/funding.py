"""Prepares a local EVM chain: USDC and USDT deployed, and a payer with both."""

from localnet.anvil import Anvil, FundedAccount
from localnet.tokens import balance_of, deploy_token, mint

SYMBOLS = ("USDC", "USDT")
PAYER_UNITS = 10**12


def payer(node: Anvil) -> FundedAccount:
    """The account that prepare_tokens gives a million of each token."""
    return node.accounts[1]


def prepare_tokens(node: Anvil) -> dict[str, str]:
    """Deploy what is not there yet and fund the payer once; return the token addresses by symbol."""
    tokens = {symbol: deploy_token(node, symbol) for symbol in SYMBOLS}
    for token in tokens.values():
        if not balance_of(node, token, payer(node).address):
            mint(node, token, payer(node).address, PAYER_UNITS)
    return tokens
