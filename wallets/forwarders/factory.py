"""Checks and deploys the forwarder factory on a chain.

Functions use plain JSON-RPC through an object with `call(method, params)`. Its errors for an unreachable or refusing node
are not caught.
"""

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

from wallets.forwarders.addresses import (
    DETERMINISTIC_DEPLOYER,
    FACTORY_ADDRESS,
    FACTORY_CODE_HASH,
    FACTORY_SALT,
    IMPLEMENTATION_ADDRESS,
    IMPLEMENTATION_CODE_HASH,
    checksum,
    deposit_key,
    keccak,
)

CONTRACTS: Final = Path(__file__).parent / "contracts"

DEPLOYMENT_GAS: Final = 800_000
"""Enough for the factory and its implementation (measured 544,000), on any chain with Ethereum's gas prices."""

DEPLOYER_SIGNER: Final = "0x3fAB184622Dc19b6109349B94811493BF2a45362"
DEPLOYER_COST_WEI: Final = 10**16
DEPLOYER_RAW_TRANSACTION: Final = (
    "0xf8a58085174876e800830186a08080b853604580600e600039806000f350fe"
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
    "e03601600081602082378035828234f58015156039578182fd5b808252505050"
    "6014600cf31ba022222222222222222222222222222222222222222222222222"
    "22222222222222a0222222222222222222222222222222222222222222222222"
    "2222222222222222"
)
"""Creates the deterministic deployer, with a one-time signature for every chain whose key is unknown: 100,000 gas at 100 gwei.

Source: README of github.com/Arachnid/deterministic-deployment-proxy.
"""

# At most what a transaction has beside its data.
_ENVELOPE_BYTES: Final = 150
_CONFIRM_SECONDS: Final = 180.0
_SHORTEST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 2.0


class Rpc(Protocol):
    """Any JSON-RPC client."""

    def call(self, method: str, params: list[Any]) -> Any:
        """Return the `result` of the node's answer, or raise."""


class FactoryError(Exception):
    """The factory cannot be used on this chain, or cannot be deployed."""


class FactoryMissingError(FactoryError):
    """There is no code at the factory's address."""


class FactoryMismatchError(FactoryError):
    """Other code is there, or the node's answers contradict our own computation."""


class DeploymentError(FactoryError):
    """The key is invalid or lacks coin, or a transaction was not mined in time."""


@dataclass(frozen=True)
class FactoryTransaction:
    """What to send: `to` as checksummed address, `data` as bytes, `value` in wei, `gas` as the limit."""

    to: str
    data: bytes
    value: int
    gas: int


def check_factory(rpc: Rpc) -> None:
    """Return if deposit addresses can be used on this chain; else raise.

    The factory and its implementation must be our code to the byte, immutable values included, and the factory must name
    the same address as our own derivation for a random destination and nonce. Raises FactoryMissingError or
    FactoryMismatchError.
    """
    if not _code_at(rpc, FACTORY_ADDRESS):
        raise FactoryMissingError(f"There is no factory at {checksum(FACTORY_ADDRESS)} on this chain.")
    _check_code(rpc, FACTORY_ADDRESS, code_hash=FACTORY_CODE_HASH)
    _check_code(rpc, IMPLEMENTATION_ADDRESS, code_hash=IMPLEMENTATION_CODE_HASH)
    _check_sampled_address(rpc)


def deployer_is_missing(rpc: Rpc) -> bool:
    """Whether this chain lacks the deterministic deployer, through which the factory gets its address."""
    return not _code_at(rpc, DETERMINISTIC_DEPLOYER)


def deployment_transaction(*, byte_gas: int = 0) -> FactoryTransaction:
    """Return the transaction that deploys the factory and its implementation; anyone may send it. `byte_gas` is as in `GasFacts`.

    Sent to a chain without the deterministic deployer it succeeds and does nothing: ask deployer_is_missing first.
    """
    data = FACTORY_SALT + factory_creation_code()
    gas = DEPLOYMENT_GAS + byte_gas * (len(data) + _ENVELOPE_BYTES)
    return FactoryTransaction(to=checksum(DETERMINISTIC_DEPLOYER), data=data, value=0, gas=gas)


def deployer_funding_transaction(*, byte_gas: int = 0) -> FactoryTransaction:
    """Return the transaction that pays the one-time signer of DEPLOYER_RAW_TRANSACTION for its gas."""
    return FactoryTransaction(
        to=DEPLOYER_SIGNER, data=b"", value=DEPLOYER_COST_WEI, gas=21_000 + byte_gas * _ENVELOPE_BYTES
    )


def deploy_factory(rpc: Rpc, *, key: str, say: Callable[[str], None], byte_gas: int = 0) -> None:
    """Deploy the factory unless it is there; return once check_factory succeeds.

    `key` is a private key (hex) with coin for gas; it gains no rights. `say` receives each step. Raises
    FactoryMismatchError if the address holds something else, DeploymentError if a transaction cannot be paid or is in no
    block after three minutes.
    """
    if _is_ready(rpc):
        say("The factory is already there.")
        return
    sender = _Sender(rpc, key)
    if _deployer_lacks_coin(rpc):
        tx_hash = sender.send(deployer_funding_transaction(byte_gas=byte_gas))
        say(f"Paid for the deterministic deployer in {tx_hash}.")
        _await_receipt(rpc, tx_hash)
    _ensure_deployer(rpc, say=say)
    tx_hash = sender.send(deployment_transaction(byte_gas=byte_gas))
    say(f"Sent the factory in {tx_hash}.")
    _await_receipt(rpc, tx_hash)
    # Checks the code instead of the receipt's status: if another sender was faster, our transaction reverted without harm.
    check_factory(rpc)
    say(f"The factory is at {checksum(FACTORY_ADDRESS)}.")


def transaction_to_send(rpc: Rpc, *, say: Callable[[str], None], byte_gas: int = 0) -> FactoryTransaction | None:
    """Return the next transaction that a person must send, from any wallet, to deploy the factory; None if it is deployed.

    Steps without a key are done here. Raises as deploy_factory does.
    """
    if _is_ready(rpc):
        return None
    if _deployer_lacks_coin(rpc):
        return deployer_funding_transaction(byte_gas=byte_gas)
    _ensure_deployer(rpc, say=say)
    return deployment_transaction(byte_gas=byte_gas)


def factory_creation_code() -> bytes:
    """Return the factory's creation code with its constructor's argument, the forwarder's code as ABI-encoded bytes."""
    forwarder = bytes.fromhex(_artifact("Forwarder")["bytecode"][2:])
    argument = (32).to_bytes(32, "big") + len(forwarder).to_bytes(32, "big") + forwarder
    return bytes.fromhex(_artifact("Factory")["bytecode"][2:]) + argument + bytes(-len(forwarder) % 32)


@cache
def _artifact(contract: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CONTRACTS / f"{contract}.json").read_text())
    return loaded


def _is_ready(rpc: Rpc) -> bool:
    try:
        check_factory(rpc)
    except FactoryMissingError:
        return False
    return True


def _code_at(rpc: Rpc, address: bytes) -> bytes:
    return _bytes_in(rpc.call("eth_getCode", [checksum(address), "latest"]))


def _check_code(rpc: Rpc, address: bytes, *, code_hash: bytes) -> None:
    if keccak(_code_at(rpc, address)) != code_hash:
        raise FactoryMismatchError(f"The code at {checksum(address)} is not ours.")


def _check_sampled_address(rpc: Rpc) -> None:
    destination, nonce = secrets.token_bytes(20), secrets.token_bytes(32)
    selector = keccak(b"address_of(address,bytes32)")[:4]
    call = {"to": checksum(FACTORY_ADDRESS), "data": "0x" + (selector + bytes(12) + destination + nonce).hex()}
    answer = _bytes_in(rpc.call("eth_call", [call, "latest"]))
    if answer != bytes(12) + deposit_key(destination, nonce):
        raise FactoryMismatchError("The factory derives other deposit addresses than we do.")


def _bytes_in(answer: Any) -> bytes:
    """Parse a node's 0x-prefixed hex answer. Raises FactoryMismatchError on anything else."""
    if isinstance(answer, str) and answer.startswith("0x"):
        try:
            return bytes.fromhex(answer[2:])
        except ValueError:
            pass
    raise FactoryMismatchError("The node answered with something that is not hex data.")


def _deployer_lacks_coin(rpc: Rpc) -> bool:
    """Whether the deterministic deployer is missing and its one-time signer cannot pay for it."""
    if not deployer_is_missing(rpc):
        return False
    held = _quantity(rpc.call("eth_getBalance", [DEPLOYER_SIGNER, "latest"]))
    return held < DEPLOYER_COST_WEI


def _ensure_deployer(rpc: Rpc, *, say: Callable[[str], None]) -> None:
    """Deploy the deterministic deployer if missing; this needs no key, as its transaction is already signed."""
    if not deployer_is_missing(rpc):
        return
    tx_hash = rpc.call("eth_sendRawTransaction", [DEPLOYER_RAW_TRANSACTION])
    say(f"Sent the deterministic deployer in {tx_hash}.")
    _await_receipt(rpc, tx_hash)
    if deployer_is_missing(rpc):
        raise DeploymentError("The deterministic deployer's transaction failed on this chain.")


def _quantity(answer: Any) -> int:
    """Parse a node's number. Raises DeploymentError on anything else."""
    try:
        return int(answer, 16)
    except (TypeError, ValueError) as error:
        raise DeploymentError("The node answered with something that is not a number.") from error


def _await_receipt(rpc: Rpc, tx_hash: str) -> None:
    deadline = time.monotonic() + _CONFIRM_SECONDS
    pause = _SHORTEST_PAUSE
    while rpc.call("eth_getTransactionReceipt", [tx_hash]) is None:
        if time.monotonic() > deadline:
            raise DeploymentError(f"{tx_hash} is in no block yet; run this again once it is.")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


class _Sender:
    """Signs with one key and sends. The key is never part of a message or an error."""

    def __init__(self, rpc: Rpc, key: str) -> None:
        from eth_account import Account  # slow to import, and needed for nothing else here

        try:
            self._account = Account.from_key(key)
        except Exception:  # noqa: BLE001 - several libraries' errors, some of which quote the key
            raise DeploymentError("The key is not a private key in hex.") from None
        self._rpc = rpc
        self._chain_id = _quantity(rpc.call("eth_chainId", []))

    def send(self, transaction: FactoryTransaction) -> str:
        """Sign and send; return the transaction hash. Raises DeploymentError if the account cannot pay for it."""
        fees = self._fees()
        self._check_balance(transaction.value + transaction.gas * fees["maxFeePerGas"])
        address = self._account.address
        nonce = _quantity(self._rpc.call("eth_getTransactionCount", [address, "pending"]))
        fields = {
            "type": 2,
            "chainId": self._chain_id,
            "nonce": nonce,
            "to": transaction.to,
            "data": "0x" + transaction.data.hex(),
            "value": transaction.value,
            "gas": transaction.gas,
            **fees,
        }
        signed = self._account.sign_transaction(fields)
        raw = "0x" + signed.raw_transaction.hex().removeprefix("0x")
        return str(self._rpc.call("eth_sendRawTransaction", [raw]))

    def _fees(self) -> dict[str, int]:
        """Return fees that last while the base fee doubles; unused fees are not charged (EIP-1559)."""
        block = self._rpc.call("eth_getBlockByNumber", ["latest", False])
        tip = _quantity(self._rpc.call("eth_maxPriorityFeePerGas", []))
        base = _quantity(block.get("baseFeePerGas") if isinstance(block, dict) else None)
        return {"maxPriorityFeePerGas": tip, "maxFeePerGas": 2 * base + tip}

    def _check_balance(self, needed: int) -> None:
        address = self._account.address
        held = _quantity(self._rpc.call("eth_getBalance", [address, "latest"]))
        if held < needed:
            raise DeploymentError(f"{address} holds {held} wei; up to {needed} wei are needed.")
