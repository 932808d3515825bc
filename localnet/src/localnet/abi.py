"""Contract calls as bytes, written without any help from the code under test."""

from typing import Any

from eth_abi.abi import encode
from sha3 import keccak_256


def keccak(data: bytes) -> bytes:
    """Return Ethereum's hash: Keccak-256 with the original padding, which is not SHA3-256. 32 bytes."""
    digest: bytes = keccak_256(data).digest()
    return digest


def encode_call(signature: str, *arguments: Any) -> bytes:
    """The data of a call, e.g. encode_call("mint(address,uint256)", to, 5). Addresses are hex strings."""
    kinds = _argument_kinds(signature)
    return keccak(signature.encode())[:4] + encode(kinds, arguments)


def encode_arguments(kinds: list[str], *arguments: Any) -> bytes:
    """Return encoded constructor arguments, which follow a contract's creation code."""
    return encode(kinds, arguments)


def topic(signature: str) -> str:
    """The first topic of an event, as nodes write it."""
    return "0x" + keccak(signature.encode()).hex()


def _argument_kinds(signature: str) -> list[str]:
    """Split at the commas that are outside of inner parentheses: "f((a,b)[],c)" has the arguments (a,b)[] and c."""
    inner = signature[signature.index("(") + 1 : -1]
    kinds, depth, start = [], 0, 0
    for position, letter in enumerate(inner):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            kinds.append(inner[start:position])
            start = position + 1
    return [*kinds, inner[start:]] if inner else []
