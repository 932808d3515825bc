"""Prepares a local chain as the gateway expects it: factory, USDC and USDT deployed, and a funded payer."""

from demo.localnet.anvil import Anvil, FundedAccount
from demo.localnet.tokens import balance_of, deploy_token, mint
from wallets.forwarders.factory import deploy_factory

SYMBOLS = ("USDC", "USDT")
PAYER_UNITS = 10**12


def payer(node: Anvil) -> FundedAccount:
    """The account that prepare_chain gives a million of each token."""
    return node.accounts[1]


def prepare_chain(node: Anvil) -> dict[str, str]:
    """Deploy what is not there yet and fund the payer once; return the token addresses by symbol."""
    deploy_factory(node, key=node.accounts[0].key, say=_say_nothing)
    tokens = {symbol: deploy_token(node, symbol) for symbol in SYMBOLS}
    for token in tokens.values():
        if not balance_of(node, token, payer(node).address):
            mint(node, token, payer(node).address, PAYER_UNITS)
    return tokens


def _say_nothing(step: str) -> None:
    pass
