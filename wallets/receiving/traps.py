"""Addresses that are sound and would still swallow a merchant's money: contracts, programs, nobody's."""

import re
from typing import Final

from wallets.addresses import AddressError, address_key
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import CHAINS, Family
from wallets.forwarders.addresses import (
    DETERMINISTIC_DEPLOYER,
    FACTORY_ADDRESS,
    IMPLEMENTATION_ADDRESS,
)
from wallets.selectors import TEST_WALLETS

_GATEWAY_CONTRACTS: Final = {
    FACTORY_ADDRESS,
    IMPLEMENTATION_ADDRESS,
    DETERMINISTIC_DEPLOYER,
}
# Precompiled contracts and what networks keep for themselves lie at the lowest numbers.
_HIGHEST_RESERVED: Final = 0xFFFF

# Solana's own programs and sysvars spell their purpose and are filled with 1: Stake111..., SysvarC1ock111...
_SOLANA_NATIVE: Final = re.compile("1{8}")
_SOLANA_PROGRAMS: Final = {
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
}

_TON_MASTERCHAIN: Final = b"\xff"


def refuse_traps(spec: ChainSpec, address: str) -> None:
    """Raise AddressError where a canonical address cannot, or must not, hold a merchant's money on this chain."""
    key = address_key(address, family=spec.family)
    if key in _tokens(spec):
        raise AddressError("must not be a token contract: what it gets is lost.")
    if key == address_key(TEST_WALLETS[spec.family], family=spec.family):
        raise AddressError("must not be nobody's address: what it gets is lost.")
    match spec.family:
        case Family.EVM | Family.TRON:
            _refuse_contracts(key)
        case Family.SOLANA:
            _refuse_programs(address)
        case Family.TON:
            _refuse_masterchain(key)


def _tokens(spec: ChainSpec) -> set[bytes]:
    """Every token contract of the chain that we know of, the published ones of its other networks as well."""
    networks = [
        network
        for facts in CHAINS
        if facts.name == spec.name
        for network in (facts.mainnet, facts.testnet)
    ]
    published = {
        address
        for network in networks
        for address in (*network.tokens.values(), *network.wrong_tokens.values())
    }
    configured = {token.address for token in spec.tokens.values()}
    return {address_key(text, family=spec.family) for text in published | configured}


def _refuse_contracts(key: bytes) -> None:
    if key in _GATEWAY_CONTRACTS:
        raise AddressError("must not be a contract of this gateway.")
    if int.from_bytes(key, "big") <= _HIGHEST_RESERVED:
        raise AddressError("must not be one that the network keeps for itself.")


def _refuse_programs(address: str) -> None:
    # Slow to import, and only asked here.
    from solders.pubkey import Pubkey

    if address in _SOLANA_PROGRAMS or _SOLANA_NATIVE.search(address):
        raise AddressError("must not be a program of Solana: what it gets is lost.")
    # No private key can exist for a point off the curve, so no wallet is there: programs derive such addresses.
    if not Pubkey.from_string(address).is_on_curve():
        raise AddressError(
            "is a program or token account address; give the wallet's own address."
        )


def _refuse_masterchain(key: bytes) -> None:
    # A jetton wallet refuses to send to an owner of another workchain than its own (TEP-74's reference contracts).
    if key.startswith(_TON_MASTERCHAIN):
        raise AddressError("must be of workchain 0: the masterchain holds no tokens.")
