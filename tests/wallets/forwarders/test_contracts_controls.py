"""Negative controls: what happens to the money when a guard is taken out of the contracts."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from localnet.abi import encode_arguments
from localnet.anvil import Anvil
from localnet.errors import NodeError
from localnet.funding import payer
from localnet.tokens import balance_of, deploy_code, execute, read, token_address, transfer
from tests.nodes.forwarders import FLUSH, FLUSH_MANY
from tests.wallets.vyper import needs_vyper
from wallets.forwarders.addresses import checksum
from wallets.forwarders.contracts.compile import write_artifacts
from wallets.forwarders.factory import CONTRACTS

pytestmark = needs_vyper

USDC = token_address("USDC")
NONCE = bytes(32)
ONLY_THE_FACTORY = '    assert msg.sender == FACTORY, "factory only"\n'
GAS_FLOOR = '        assert msg.gas > GAS_FLOOR, "gas"\n'
DESTINATION_IN_SALT = "keccak256(abi_encode(destination, nonce))"


@dataclass(frozen=True)
class Guard:
    """A line of a contract, and what stands there once the guard is gone."""

    contract: str
    line: str
    without: str = ""


def deploy_without(node: Anvil, guard: Guard, *, folder: Path) -> str:
    """Deploy a factory that lacks one guard; return its address."""
    for source in CONTRACTS.glob("*.vy"):
        text = source.read_text()
        if source.stem == guard.contract:
            assert text.count(guard.line) == 1
            text = text.replace(guard.line, guard.without)
        (folder / source.name).write_text(text)
    codes = {path.stem: _creation_code(path) for path in write_artifacts(folder, output=folder)}
    return deploy_code(node, codes["Factory"] + encode_arguments(["bytes"], codes["Forwarder"]))


def pay_forwarder(node: Anvil, factory: str, destination: str) -> str:
    """Send 1000 units to a forwarder of a factory, and return its address."""
    answer = read(node, factory, "address_of(address,bytes32)", destination, NONCE)
    forwarder = checksum(bytes.fromhex(answer[-40:]))
    transfer(node, payer(node), USDC, forwarder, 1000)
    return forwarder


def test_without_the_caller_check_a_thief_takes_the_deposit(base_node: Anvil, tmp_path: Path) -> None:
    guard = Guard("Forwarder", ONLY_THE_FACTORY)
    factory = deploy_without(base_node, guard, folder=tmp_path)
    merchant, thief = base_node.accounts[5].address, base_node.accounts[8]
    forwarder = pay_forwarder(base_node, factory, merchant)
    execute(base_node, thief, factory, FLUSH, merchant, NONCE, token_address("USDT"))
    execute(base_node, thief, forwarder, "sweep(address,address)", USDC, thief.address)
    assert balance_of(base_node, USDC, thief.address) == 1000


def test_without_the_destination_in_the_salt_a_thief_takes_the_deposit(base_node: Anvil, tmp_path: Path) -> None:
    guard = Guard("Factory", DESTINATION_IN_SALT, "keccak256(abi_encode(nonce))")
    factory = deploy_without(base_node, guard, folder=tmp_path)
    merchant, thief = base_node.accounts[5].address, base_node.accounts[8]
    pay_forwarder(base_node, factory, merchant)
    execute(base_node, thief, factory, FLUSH, thief.address, NONCE, USDC)
    assert balance_of(base_node, USDC, thief.address) == 1000


@pytest.mark.parametrize(
    ("missing", "starved"),
    [(Guard("Factory", GAS_FLOOR), True), (Guard("Forwarder", ONLY_THE_FACTORY), False)],
    ids=["without-floor", "with-floor"],
)
def test_without_the_gas_floor_a_batch_can_succeed_and_pay_nothing(
    base_node: Anvil, tmp_path: Path, missing: Guard, starved: bool
) -> None:
    factory = deploy_without(base_node, missing, folder=tmp_path)
    merchant = base_node.accounts[5].address
    pay_forwarder(base_node, factory, merchant)
    execute(base_node, base_node.accounts[0], USDC, "set_rounds(uint256)", 1500)
    unpaid_successes = []
    for gas in range(60_000, 500_000, 5_000):
        with base_node.rolled_back():
            if _succeeds(base_node, factory, merchant, gas=gas):
                unpaid_successes.append(balance_of(base_node, USDC, merchant) == 0)
    assert any(unpaid_successes) is starved


def _succeeds(node: Anvil, factory: str, merchant: str, *, gas: int) -> bool:
    items = [(merchant, NONCE)]
    try:
        execute(node, node.accounts[7], factory, FLUSH_MANY, items, USDC, gas=gas)
    except NodeError:
        return False
    return True


def _creation_code(artifact: Path) -> bytes:
    return bytes.fromhex(json.loads(artifact.read_text())["bytecode"][2:])
