"""A local EVM chain as the gateway expects it: its factory, beside the tokens and the payer that localnet makes."""

from localnet.anvil import Anvil
from localnet.funding import prepare_tokens
from wallets.forwarders.factory import deploy_factory


def prepare_chain(node: Anvil) -> dict[str, str]:
    """Deploy what is not there yet and fund the payer once; return the token addresses by symbol."""
    deploy_factory(node, key=node.accounts[0].key, say=_say_nothing)
    return prepare_tokens(node)


def _say_nothing(step: str) -> None:
    pass
