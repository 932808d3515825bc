"""Deposit addresses on a local node: make one up, flush it."""

import secrets
from dataclasses import dataclass
from typing import Any

from localnet.abi import topic
from localnet.anvil import Anvil, FundedAccount
from localnet.tokens import execute
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum, deposit_key

FACTORY = checksum(FACTORY_ADDRESS)
NATIVE_COIN = checksum(bytes(20))
FLUSH = "flush(address,bytes32,address)"
FLUSH_MANY = "flush_many((address,bytes32)[],address)"
TRANSFER = topic("Transfer(address,address,uint256)")
FLUSH_FAILED = topic("FlushFailed(address,address,address)")
BATCH_GAS = 15_000_000


@dataclass(frozen=True)
class Deposit:
    """A deposit address with what it is made from."""

    destination: str
    nonce: bytes

    @property
    def address(self) -> str:
        """The address that a buyer pays to."""
        return checksum(deposit_key(bytes.fromhex(self.destination[2:]), self.nonce))


def new_deposit(destination: str | None = None) -> Deposit:
    """A deposit address nobody used before, for a destination nobody has a key of unless one is given."""
    wallet = destination or checksum(secrets.token_bytes(20))
    return Deposit(destination=wallet, nonce=secrets.token_bytes(32))


def flush(node: Anvil, caller: FundedAccount, deposit: Deposit, token: str) -> dict[str, Any]:
    """Flush one deposit address and return the receipt. Raises NodeError when the transaction reverts."""
    tx_hash = execute(node, caller, FACTORY, FLUSH, deposit.destination, deposit.nonce, token)
    return node.receipt(tx_hash)


def flush_many(
    node: Anvil, caller: FundedAccount, deposits: list[Deposit], token: str, *, gas: int = BATCH_GAS
) -> dict[str, Any]:
    """Flush many deposit addresses and return the receipt. Raises NodeError when the transaction reverts."""
    items = [(deposit.destination, deposit.nonce) for deposit in deposits]
    return node.receipt(execute(node, caller, FACTORY, FLUSH_MANY, items, token, gas=gas))


def emptied(receipt: dict[str, Any], token: str) -> list[str]:
    """The addresses that the token's own Transfer events in a receipt name as senders, in order."""
    return _named(receipt, emitter=token, event=TRANSFER)


def failed(receipt: dict[str, Any]) -> list[str]:
    """The forwarders that the factory's FlushFailed events in a receipt name, in order."""
    return _named(receipt, emitter=FACTORY, event=FLUSH_FAILED)


def _named(receipt: dict[str, Any], *, emitter: str, event: str) -> list[str]:
    found = [log for log in receipt["logs"] if log["topics"][0] == event and log["address"] == emitter.lower()]
    return [checksum(bytes.fromhex(log["topics"][1][-40:])) for log in found]
