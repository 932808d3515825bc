import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wallets.forwarders import addresses
from wallets.forwarders.addresses import (
    DETERMINISTIC_DEPLOYER,
    FACTORY_ADDRESS,
    FACTORY_CODE_HASH,
    FACTORY_SALT,
    IMPLEMENTATION_ADDRESS,
    IMPLEMENTATION_CODE_HASH,
    ForwarderInputError,
    checksum,
    clone_creation_code,
    deposit_key,
    keccak,
)
from wallets.forwarders.contracts.compile import ROOT
from wallets.forwarders.factory import CONTRACTS, factory_creation_code

DESTINATION = bytes.fromhex("70997970c51812dc3a010c7d01b50e0d17dc79c8")
NONCE = bytes(range(32))


def create2_address(deployer: bytes, *, salt: bytes, code_hash: bytes) -> bytes:
    """The address of `deployer`'s contract with this creation code's hash (EIP-1014)."""
    return keccak(b"\xff" + deployer + salt + code_hash)[12:]


def first_created_address(creator: bytes) -> bytes:
    """The address of a contract's first contract by CREATE: keccak(rlp([creator, 1]))."""
    return keccak(b"\xd6\x94" + creator + b"\x01")[12:]


@pytest.mark.parametrize(
    "address",  # the examples of EIP-55
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde709f2102306220921060314715629080e2fb77",
    ],
)
def test_an_address_is_written_with_the_checksum_of_eip_55(address: str) -> None:
    assert checksum(bytes.fromhex(address[2:])) == address


@pytest.mark.parametrize(
    ("deployer", "salt", "code", "address"),  # the examples of EIP-1014
    [
        ("00" * 20, "00" * 32, "00", "0x4D1A2e2bB4F88F0250f26Ffff098B0b30B26BF38"),
        ("deadbeef" + "00" * 16, "00" * 12 + "feed" + "00" * 18, "00", "0xD04116cDd17beBE565EB2422F2497E06cC1C9833"),
        ("00" * 16 + "deadbeef", "00" * 28 + "cafebabe", "deadbeef", "0x60f3f640a8508fC6a86d45DF051962668E1e8AC7"),
    ],
)
def test_a_create2_address_is_that_of_eip_1014(deployer: str, salt: str, code: str, address: str) -> None:
    code_hash = keccak(bytes.fromhex(code))
    computed = create2_address(bytes.fromhex(deployer), salt=bytes.fromhex(salt), code_hash=code_hash)
    assert checksum(computed) == address


def test_the_pinned_addresses_are_those_of_the_committed_contracts() -> None:
    code_hash = keccak(factory_creation_code())
    factory = create2_address(DETERMINISTIC_DEPLOYER, salt=FACTORY_SALT, code_hash=code_hash)
    assert checksum(FACTORY_ADDRESS) == checksum(factory)
    assert checksum(IMPLEMENTATION_ADDRESS) == checksum(first_created_address(factory))


def test_the_pinned_code_hashes_cover_the_runtime_code_with_its_immutable_values() -> None:
    clone_hash = keccak(clone_creation_code(IMPLEMENTATION_ADDRESS))
    factory_code = _runtime("Factory") + bytes(12) + IMPLEMENTATION_ADDRESS + clone_hash
    assert keccak(factory_code) == FACTORY_CODE_HASH
    implementation_code = _runtime("Forwarder") + bytes(12) + FACTORY_ADDRESS
    assert keccak(implementation_code) == IMPLEMENTATION_CODE_HASH


def test_a_deposit_address_never_changes_between_releases() -> None:
    assert checksum(deposit_key(DESTINATION, NONCE)) == "0x878e338B62D4006F5D4599d92C3e02C8d69f37eB"


def test_another_destination_or_nonce_is_another_deposit_address() -> None:
    first = deposit_key(DESTINATION, NONCE)
    assert deposit_key(DESTINATION, NONCE[::-1]) != first
    assert deposit_key(DESTINATION[::-1], NONCE) != first


@pytest.mark.parametrize(
    ("destination", "nonce"),
    [
        (bytes(20), NONCE),
        (DESTINATION[:-1], NONCE),
        (DESTINATION + b"\0", NONCE),
        (b"", NONCE),
        (DESTINATION, NONCE[:-1]),
        (DESTINATION, NONCE + b"\0"),
        (DESTINATION, b""),
    ],
)
def test_no_deposit_address_is_made_from_a_malformed_destination_or_nonce(destination: bytes, nonce: bytes) -> None:
    with pytest.raises(ForwarderInputError):
        deposit_key(destination, nonce)


@pytest.mark.parametrize("address", [b"", bytes(19), bytes(21)])
def test_only_twenty_bytes_can_be_written_as_an_address(address: bytes) -> None:
    with pytest.raises(ForwarderInputError):
        checksum(address)


def test_deriving_loads_neither_a_web_framework_nor_a_chain_library() -> None:
    script = "import sys, wallets.forwarders.addresses; print(*sys.modules)"
    loaded = subprocess.check_output(
        [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True
    )
    assert not {"django", "web3", "eth_account", "eth_abi"} & set(loaded.split())
    assert addresses.__name__ in loaded


def _artifact(contract: str) -> dict[str, str]:
    artifact: dict[str, str] = json.loads(Path(CONTRACTS / f"{contract}.json").read_text())
    return artifact


def _runtime(contract: str) -> bytes:
    return bytes.fromhex(_artifact(contract)["runtime"][2:])
