"""Test tokens: deploy them, mint them, pay with them. Each has six decimals, as USDC and USDT do on most EVM chains."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from eth_utils.address import to_checksum_address

from localnet.abi import encode_arguments, encode_call, keccak
from localnet.anvil import Anvil, FundedAccount
from localnet.errors import NodeError

CONTRACTS = Path(__file__).parent / "contracts"
DEPLOYER = bytes.fromhex("4e59b44847b379578588920ca78fbf26c0b4956c")
"""Deploys code that is sent to it by CREATE2; anvil has it from the first block (Arachnid/deterministic-deployment-proxy)."""

REAL = bytes(32)
FAKE = b"\x01".rjust(32, b"\0")
_DEPLOY_GAS = 3_000_000
_BATCH_GAS_PER_TRANSFER = 55_000

_NAMES = {"USDC": "USD Coin", "USDT": "Tether USD"}
_CONTRACT_OF = {"USDT": "Usdt"}


@cache
def artifact(contract: str) -> dict[str, Any]:
    """The compiled contract, e.g. "Token"."""
    loaded: dict[str, Any] = json.loads((CONTRACTS / f"{contract}.json").read_text())
    return loaded


def token_address(symbol: str, *, salt: bytes = REAL) -> str:
    """Where deploy_token puts this token: the same address on every local chain."""
    return deployed_address(_token_code(symbol), salt=salt)


def deploy_token(node: Anvil, symbol: str, *, salt: bytes = REAL) -> str:
    """Deploy a token unless it is there, and return its address.

    USDT's transfer returns nothing, as on Ethereum; every other symbol gets a token that answers true. Another salt,
    such as FAKE, makes another token of the same name and symbol.
    """
    return deploy_code(node, _token_code(symbol), salt=salt)


def deploy_contract(node: Anvil, contract: str, *, arguments: bytes = b"", salt: bytes = REAL) -> str:
    """Deploy one of the test contracts, with ABI-encoded constructor arguments, and return its address."""
    code = bytes.fromhex(artifact(contract)["bytecode"][2:])
    return deploy_code(node, code + arguments, salt=salt)


def deploy_code(node: Anvil, code: bytes, *, salt: bytes = REAL) -> str:
    """Deploy creation code unless it was, by CREATE2, and return its address. Raises NodeError when it reverts."""
    address = deployed_address(code, salt=salt)
    if not node.code(address):
        tx_hash = node.send(node.accounts[0], to=to_checksum_address(DEPLOYER), data=salt + code, gas=_DEPLOY_GAS)
        node.receipt(tx_hash)
        if not node.code(address):
            raise NodeError(0, f"Nothing was deployed at {address} by {tx_hash}.", None)
    return address


def mint(node: Anvil, token: str, to: str, units: int) -> str:
    """Make tokens out of nothing, in base units; return the transaction hash."""
    return execute(node, node.accounts[0], token, "mint(address,uint256)", to, units)


def transfer(node: Anvil, payer: FundedAccount, token: str, to: str, units: int) -> str:
    """Pay with the account's own signature; return the transaction hash. Raises NodeError when it reverts."""
    return execute(node, payer, token, "transfer(address,uint256)", to, units)


def transfer_many(node: Anvil, payer: FundedAccount, token: str, payments: list[tuple[str, int]]) -> str:
    """Pay up to 500 (address, units) in one transaction; the token must not be USDT. Returns the transaction hash."""
    batch = deploy_contract(node, "Batch")
    execute(node, payer, token, "approve(address,uint256)", batch, 2**256 - 1)
    recipients = [to for to, _ in payments]
    units = [amount for _, amount in payments]
    signature = "transfer_many(address,address[],uint256[])"
    gas = 100_000 + _BATCH_GAS_PER_TRANSFER * len(payments)
    return execute(node, payer, batch, signature, token, recipients, units, gas=gas)


def balance_of(node: Anvil, token: str, owner: str) -> int:
    """What an address holds of a token, in base units."""
    return int(read(node, token, "balanceOf(address)", owner), 16)


def read(node: Anvil, contract: str, signature: str, *arguments: Any) -> str:
    """The answer of a call that changes nothing, once all that was sent is in a block; as hex. Raises NodeError when it reverts."""
    node.await_blocks()
    data = "0x" + encode_call(signature, *arguments).hex()
    answer: str = node.rpc("eth_call", {"to": contract, "data": data}, "latest")
    return answer


def execute(
    node: Anvil, account: FundedAccount, contract: str, signature: str, *arguments: Any, gas: int = 1_000_000
) -> str:
    """Call a contract in a transaction; return its hash. Raises NodeError when it is refused or reverts.

    Waits until it is in a block only where that happens at once; otherwise it may still revert.
    """
    data = encode_call(signature, *arguments)
    tx_hash = node.send(account, to=contract, data=data, gas=gas)
    # Even then the node may answer a moment before its block is done.
    if node.automine and node.receipt(tx_hash)["status"] != "0x1":
        raise NodeError(0, f"{signature} reverted in {tx_hash}", None)
    return tx_hash


def _token_code(symbol: str) -> bytes:
    code = bytes.fromhex(artifact(_CONTRACT_OF.get(symbol, "Token"))["bytecode"][2:])
    return code + encode_arguments(["string", "string"], _NAMES.get(symbol, symbol), symbol)


def deployed_address(code: bytes, *, salt: bytes) -> str:
    """Where `DEPLOYER` puts creation code."""
    # EIP-1014.
    return to_checksum_address(keccak(b"\xff" + DEPLOYER + salt + keccak(code))[12:])
