"""Addresses of an Ed25519 key's standard wallet contracts on TON. Pure.

A contract's address is the hash of its first state, code and data, which tonsdk works out up to version 4. Version 5 is
newer than tonsdk: https://github.com/ton-blockchain/wallet-contract-v5, types.tlb for its data.
"""

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import Final

_UP_TO_4: Final = ("v3r1", "v3r2", "v4r1", "v4r2")
_KNOWN_CODES: Final = ("v2r1", "v2r2", *_UP_TO_4, "hv2")
_V5R1_CODE: Final = bytes.fromhex("20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f")
"""The hash of its code, a tree of cells this deep:"""
_V5R1_CODE_DEPTH: Final = 6
# A wallet's id contains its network's number: one key has two wallets, on mainnet and testnet.
_NETWORKS: Final = (-239, -3)
# The first bit says that the rest is workchain, version and number of the wallet, which are all 0.
_FIRST_WALLET: Final = 1 << 31


def standard_wallets(key: bytes) -> Iterator[bytes]:
    """Yield the wallets of a public key of 32 bytes in the basic workchain, as `address_key` writes addresses."""
    from tonsdk.contract.wallet import Wallets, WalletVersionEnum

    for version in _UP_TO_4:
        kind = Wallets.ALL[WalletVersionEnum(version)]
        # Computes addresses only, without a private key.
        wallet = kind(public_key=key, private_key=b"", wc=0)
        yield b"\0" + bytes(wallet.address.hash_part)
    for network in _NETWORKS:
        yield b"\0" + _v5r1(key, network)


@cache
def wallet_codes() -> frozenset[str]:
    """Return the hashes of the codes of standard wallets, in hexadecimal."""
    from tonsdk.contract.wallet import Wallets, WalletVersionEnum

    kinds = [Wallets.ALL[WalletVersionEnum(version)] for version in _KNOWN_CODES]
    made = [kind(public_key=bytes(32), private_key=b"", wc=0) for kind in kinds]
    codes = {wallet.options["code"].bytes_hash().hex() for wallet in made}
    return frozenset(codes | {_V5R1_CODE.hex()})


def _v5r1(key: bytes, network: int) -> bytes:
    """Return the hash of a wallet's first state, as TON hashes cells: sizes, bits padded with 10…0, depths and hashes of references."""
    wallet_id = (network ^ _FIRST_WALLET) & 0xFFFF_FFFF
    # Signatures are allowed: 1; 32 bits of a counter at 0; id; key; no extensions: 0.
    bits = (1 << 32 << 32 | wallet_id) << 256 | int.from_bytes(key, "big")
    data = _filled(bits << 1, 322)
    # No depth to begin at, nothing special, code, data, no library: 00110.
    state = _filled(0b00110, 5)
    depths = _V5R1_CODE_DEPTH.to_bytes(2, "big") + bytes(2)
    data_hash = sha256(b"\x00\x51" + data).digest()
    return sha256(b"\x02\x01" + state + depths + _V5R1_CODE + data_hash).digest()


def _filled(bits: int, count: int) -> bytes:
    missing = -(count + 1) % 8
    return ((bits << 1 | 1) << missing).to_bytes((count + 1 + missing) // 8, "big")
