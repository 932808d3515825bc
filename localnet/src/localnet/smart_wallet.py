"""Wallets that are contracts, as payers (contracts/SmartWallet.vy)."""

import secrets
from dataclasses import replace
from typing import Any

from localnet.abi import encode_arguments
from localnet.anvil import Anvil, FundedAccount
from localnet.tokens import deploy_contract


def deploy_wallet(node: Anvil, owner: FundedAccount) -> str:
    """Deploy a wallet of its own for an account; return its address."""
    arguments = encode_arguments(["address"], owner.address)
    salt = secrets.token_bytes(32)
    return deploy_contract(node, "SmartWallet", arguments=arguments, salt=salt)


def by_wallet(told: Any) -> Any:
    """What an owner signed, with a signature as the wallet wants one: longer than a key's."""
    return replace(told, signature=told.signature + "00")
