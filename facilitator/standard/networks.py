"""What the standard calls our chains: a name in version 1, CAIP-2 in version 2."""

from types import MappingProxyType
from typing import Final

from accounts.states import Mode
from settlements.gas.keys import gas_keys
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import Family
from wallets.networks import chains

VERSIONS: Final = (1, 2)

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


def network_of(spec: ChainSpec, version: int) -> str | None:
    """Return what a version calls a chain; None where it cannot."""
    if spec.chain_id is None:
        return None
    return f"eip155:{spec.chain_id}" if version == 2 else _NAMES.get(spec.chain_id)


def offered_chains(mode: Mode) -> list[ChainSpec]:
    """Return the chains on which authorisations are carried out: with forwarders, nodes, and a gas key to pay with.

    Test keys touch no chain, so they need neither.
    """
    evm = [spec for spec in chains().values() if spec.family is Family.EVM]
    if mode == Mode.TEST:
        return evm
    return [spec for spec in evm if spec.rpc_urls] if gas_keys() else []


def chain_called(network: str, version: int, mode: Mode) -> ChainSpec | None:
    """Return the chain that a version calls so, where it is offered."""
    for spec in offered_chains(mode):
        if network_of(spec, version) == network:
            return spec
    return None
