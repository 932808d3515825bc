"""What the standard calls our chains: a name in version 1, CAIP-2 in version 2."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from accounts.states import Mode
from settlements.gas.keys import gas_keys
from settlements.gas.solana_keys import solana_gas_keys
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import Family, Network
from wallets.networks import chains

VERSIONS: Final = (1, 2)

_KEYS: Final = MappingProxyType[Family, Callable[[], Mapping[str, Any]]](
    {Family.EVM: gas_keys, Family.SOLANA: solana_gas_keys}
)

# Source: PyPI x402 2.25, mechanisms/evm/v1/constants.py. Other chains have no name in version 1.
_NAMES: Final = MappingProxyType(
    {
        8453: "base",
        84532: "base-sepolia",
        137: "polygon",
        80002: "polygon-amoy",
        1: "ethereum",
    }
)
# The beginning of the first block's hash (CAIP-30), and the name. A local network plays the main one, as local EVM chains do.
_SOLANA: Final = MappingProxyType(
    {
        Network.MAINNET: ("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana"),
        Network.TESTNET: ("solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "solana-devnet"),
        Network.LOCAL: ("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana"),
    }
)


def network_of(spec: ChainSpec, version: int) -> str | None:
    """Return what a version calls a chain; None where it cannot."""
    if spec.family is Family.SOLANA:
        caip, name = _SOLANA[spec.network]
        return caip if version == 2 else name
    if spec.chain_id is None:
        return None
    return f"eip155:{spec.chain_id}" if version == 2 else _NAMES.get(spec.chain_id)


def offered_chains(mode: Mode) -> list[ChainSpec]:
    """Return the chains on which authorisations are carried out: with nodes, and an account of ours to pay them with.

    Test keys touch no chain, so they need neither.
    """
    found = [spec for spec in chains().values() if spec.family in _KEYS]
    if mode == Mode.TEST:
        return found
    return [spec for spec in found if spec.rpc_urls and signers_of(spec)]


def signers_of(spec: ChainSpec) -> Sequence[str]:
    """Return the accounts of ours that carry authorisations out on a chain."""
    return list(_KEYS[spec.family]())


def chain_called(network: str, version: int, mode: Mode) -> ChainSpec | None:
    """Return the chain that a version calls so, where it is offered."""
    for spec in offered_chains(mode):
        if network_of(spec, version) == network:
            return spec
    return None
