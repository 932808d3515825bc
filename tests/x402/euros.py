"""Machines that pay in EURC: on a local Base the contract of USDC, at EURC's address and under its name."""

from typing import Any

from localnet.anvil import Anvil
from localnet.authorizations import lay_eurc
from localnet.funding import payer
from localnet.tokens import transfer
from tests.contract.client import ApiClient
from tests.x402.calls import Claim
from tests.x402.payers import DEEP, UNITS, claim_of, pay_to_of
from wallets.selectors import forget


def take_euros(settings: Any) -> None:
    """Let the operator take EURC from machines on Base."""
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_TOKENS": "USDC,EURC"}
    forget()


def lay_euros(settings: Any, node: Anvil) -> str:
    """Do so, and return the address of the token, of which the node's payer has a million."""
    take_euros(settings)
    return lay_eurc(node)


def paid_in_euros(node: Anvil, client: ApiClient, eurc: str, units: int = UNITS, **values: Any) -> Claim:
    """Pay the merchant, deep enough to count, and claim it."""
    to = pay_to_of(client)
    tx_hash = transfer(node, payer(node), eurc, to, units)
    node.mine(DEEP - 1)
    return claim_of(node, tx_hash, to, **({"token": "EURC"} | values))
