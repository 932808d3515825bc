"""Paying as a machine does, on a local node."""

from typing import Any

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address, transfer
from tests.contract.client import ApiClient
from tests.x402.calls import Claim

UNITS = 500_000
DEEP = 3


def pay_to_of(client: ApiClient, chain: str = "base") -> str:
    """Where the merchant's machines pay, as `/config` says."""
    answer = client.get("/x402/config")
    assert answer.status == 200, answer.body
    found: str = answer.body["payTo"][chain]
    return found


def paid(
    node: Anvil, client: ApiClient, units: int = UNITS, *, chain: str = "base", blocks: int = DEEP, **values: Any
) -> Claim:
    """Pay the merchant, deep enough to count, and claim it."""
    to = values.pop("to", None) or pay_to_of(client, chain)
    tx_hash = transfer(node, payer(node), token_address("USDC"), to, units)
    node.mine(blocks - 1)
    return claim_of(node, tx_hash, to, chain=chain, **values)


def claim_of(node: Anvil, tx_hash: str, to: str, *, chain: str = "base", **values: Any) -> Claim:
    """Claim a transaction of the usual payer."""
    found = {"token": "USDC", "payer": payer(node).address, "pay_to": to} | values
    return Claim(chain=chain, tx_hash=tx_hash, **found)
