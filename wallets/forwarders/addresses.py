"""Derives deposit addresses offline: without a node, a key or a transaction.

A deposit address is the CREATE2 address of an EIP-1167 clone made by the factory in
`wallets/forwarders/contracts/Factory.vy`. It is fixed by the merchant's receiving wallet (the destination) and a nonce, and
is the same on every EVM chain.

Addresses are 20 bytes here; `checksum` writes one for people. `wallets.forwarders.factory` verifies this on a chain.
"""

from typing import Final

from sha3 import keccak_256

ADDRESS_BYTES: Final = 20
NONCE_BYTES: Final = 32

DETERMINISTIC_DEPLOYER: Final = bytes.fromhex("4e59b44847b379578588920ca78fbf26c0b4956c")
"""Deploys code that is sent to it by CREATE2, at the same address on every chain (Arachnid/deterministic-deployment-proxy)."""

FACTORY_SALT: Final = bytes(32)

# Fixed by the compiled contracts. They are constants, not computed, because every deposit address depends on
# them: tests compare them with the artifacts, so a change of the contracts is noticed.
FACTORY_ADDRESS: Final = bytes.fromhex("a4edbd513b698767fb4d7647cd8b48ebae83aec5")
IMPLEMENTATION_ADDRESS: Final = bytes.fromhex("bff0da3ef46ae8aebadc27192b8664ac9576ecfa")
FACTORY_CODE_HASH: Final = bytes.fromhex("ca5b289f809d4c3e61d8605063a4fc916cb10a06591871ca1aef447c02918f90")
IMPLEMENTATION_CODE_HASH: Final = bytes.fromhex("3932f9910fb89c7d47f3ca8b534bd9a7229790cd849a719bf32c137c3325e7c7")


class ForwarderInputError(ValueError):
    """The destination or nonce is invalid for a deposit address."""


def keccak(data: bytes) -> bytes:
    """Return Ethereum's hash: Keccak-256 with the original padding, which is not SHA3-256. 32 bytes."""
    digest: bytes = keccak_256(data).digest()
    return digest


def clone_code(implementation: bytes) -> bytes:
    """Return the code at a deposit address: the 45 bytes of EIP-1167 around the implementation's address."""
    head = bytes.fromhex("363d3d373d3d3d363d73")
    return head + implementation + bytes.fromhex("5af43d82803e903d91602b57fd5bf3")


def clone_creation_code(implementation: bytes) -> bytes:
    """Return the creation code of a deposit address: Vyper's 9-byte constructor (not OpenZeppelin's 10) and the clone."""
    return bytes.fromhex("602d3d8160093d39f3") + clone_code(implementation)


_CLONE_HASH: Final = keccak(clone_creation_code(IMPLEMENTATION_ADDRESS))
_CREATE2_PREFIX: Final = b"\xff" + FACTORY_ADDRESS
_ADDRESS_PADDING: Final = bytes(12)


def deposit_key(destination: bytes, nonce: bytes) -> bytes:
    """Return the deposit address of a destination (20 bytes) and a nonce (32 bytes), as 20 bytes.

    Raises ForwarderInputError on other lengths, and on the zero address: what is sent there is lost.
    """
    if len(destination) != ADDRESS_BYTES or not any(destination):
        raise ForwarderInputError("The destination must be 20 bytes, not all zero.")
    if len(nonce) != NONCE_BYTES:
        raise ForwarderInputError("The nonce must be 32 bytes.")
    salt = keccak_256(_ADDRESS_PADDING + destination + nonce).digest()
    key: bytes = keccak_256(_CREATE2_PREFIX + salt + _CLONE_HASH).digest()[12:]
    return key


def checksum(address: bytes) -> str:
    """Write a 20-byte address with the EIP-55 checksum: 0x and 40 digits of mixed case.

    Raises ForwarderInputError on another length.
    """
    if len(address) != ADDRESS_BYTES:
        raise ForwarderInputError("An address is 20 bytes.")
    marks = keccak(address.hex().encode())
    pairs = zip(address, marks, strict=False)  # 20 bytes, 32 bytes of marks
    return "0x" + "".join([_SPELLED[byte, mark & _MARKS] for byte, mark in pairs])


# A digit is upper case where the highest bit of its mark is set.
_MARKS = 0x88


def _spelled(byte: int, mark: int) -> str:
    high, low = tuple(f"{byte:02x}")
    return (high.upper() if mark & 0x80 else high) + (low.upper() if mark & 0x08 else low)


# Every byte with every pair of marks: an address is written for each checkout, and twenty look-ups are quick.
_SPELLED = {(byte, mark): _spelled(byte, mark) for byte in range(256) for mark in (0x00, 0x08, 0x80, 0x88)}
