"""Wallets that are contracts, as payers (contracts/SmartWallet.vy)."""

import secrets
from dataclasses import replace
from typing import Any

from localnet.abi import encode_arguments
from localnet.anvil import Anvil, FundedAccount
from localnet.tokens import artifact, deploy_contract, deployed_address


def deploy_wallet(node: Anvil, owner: FundedAccount) -> str:
    """Deploy a wallet of its own for an account; return its address."""
    arguments = encode_arguments(["address"], owner.address)
    salt = secrets.token_bytes(32)
    return deploy_contract(node, "SmartWallet", arguments=arguments, salt=salt)


def future_wallet(owner: FundedAccount) -> tuple[str, bytes]:
    """Where a wallet of its own for an account will be, and the call of `DEPLOYER` that puts it there."""
    code = bytes.fromhex(artifact("SmartWallet")["bytecode"][2:]) + encode_arguments(["address"], owner.address)
    salt = secrets.token_bytes(32)
    return deployed_address(code, salt=salt), salt + code


def by_wallet(told: Any) -> Any:
    """What an owner signed, with a signature as the wallet wants one: longer than a key's."""
    return replace(told, signature=told.signature + "00")
