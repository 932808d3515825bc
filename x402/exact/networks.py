"""The standard's names of our chains: a name in version 1, CAIP-2 in version 2."""

from collections.abc import Sequence
from typing import Final

from accounts.states import Mode
from wallets.chains.registry import facts_of
from wallets.chains.specs import ChainSpec
from wallets.networks import chains
from x402.exact.rails import has_rail, rail_of

VERSIONS: Final = (1, 2)


def network_of(spec: ChainSpec, version: int) -> str | None:
    """Return a version's name of a chain; None if it has none."""
    return spec.caip2 if version == 2 else spec.x402_name


def listed_network_of(spec: ChainSpec, version: int) -> str | None:
    """Return the same where a version's published clients know it; a client may refuse a whole list over an unknown name."""
    facts = facts_of(spec.name)
    known = {one.x402_name for one in (facts.mainnet, facts.testnet) if one.is_x402_known}
    name = network_of(spec, version)
    return name if version != 1 or name in known else None


def offered_chains(mode: Mode) -> list[ChainSpec]:
    """Return the chains on which authorisations are carried out: those with nodes and one of our fee payers.

    Test keys touch no chain, so they need neither.
    """
    found = [spec for spec in chains().values() if has_rail(spec.family)]
    if mode == Mode.TEST:
        return found
    return [spec for spec in found if spec.rpc_urls and signers_of(spec)]


def signers_of(spec: ChainSpec) -> Sequence[str]:
    """Return the accounts of ours that carry authorisations out on a chain."""
    return rail_of(spec.family).signers()


def chain_called(network: str, version: int, mode: Mode) -> ChainSpec | None:
    """Return the chain with this name in a version, if it is offered."""
    for spec in offered_chains(mode):
        if network_of(spec, version) == network:
            return spec
    return None
