"""The standard's names of our chains, and `GET /x402/supported`: the kinds of payments settled here."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from accounts.states import Mode
from wallets.chains.family import ChainSpec
from wallets.chains.registry import facts_of
from wallets.networks import chains
from x402.exact.rails import RAILS, has_rail, rail_of
from x402.inputs import SCHEME, UPTO
from x402.payments.addresses import payable_chains

VERSIONS: Final = (1, 2)

SCHEMES: Final = MappingProxyType({1: (SCHEME,), 2: (SCHEME, UPTO)})
"""The schemes of each version that some rail carries out."""


def network_of(spec: ChainSpec, version: int) -> str | None:
    """Return a version's name of a chain; None if it has none."""
    return spec.caip2 if version == 2 else spec.x402_name


def listed_network_of(spec: ChainSpec, version: int) -> str | None:
    """Return a version's name of a chain if published clients know it, else None: an unknown name may make a client refuse all."""
    facts = facts_of(spec.name)
    known = {one.x402_name for one in (facts.mainnet, facts.testnet) if one.is_x402_known}
    name = network_of(spec, version)
    return name if version != 1 or name in known else None


def offered_chains(mode: Mode) -> list[ChainSpec]:
    """Return the chains on which authorisations are carried out: those with nodes and one of our fee payers.

    Test keys touch no chain, so they need neither.
    """
    found = [spec for spec in chains().values() if has_rail(spec.family) and _is_signed_for(spec)]
    if mode == Mode.TEST:
        return found
    return [spec for spec in found if spec.rpc_urls and signers_of(spec)]


def _is_signed_for(spec: ChainSpec) -> bool:
    """Return whether a payment can be signed in some token: one that is recorded as its contract counts it."""
    return any(not token.cut_decimals for token in spec.machine_tokens)


def signers_of(spec: ChainSpec) -> Sequence[str]:
    """Return the accounts of ours that carry authorisations out on a chain."""
    return rail_of(spec.family).signers()


def chain_called(network: str, version: int, mode: Mode) -> ChainSpec | None:
    """Return the chain with this name in a version, if it is offered."""
    for spec in offered_chains(mode):
        if network_of(spec, version) == network:
            return spec
    return None


def supported_payload(mode: Mode, *, merchant_id: int, extensions: Sequence[str]) -> dict[str, Any]:
    """Return the response: kinds of both versions in one list, and our accounts that will carry payments out.

    `extensions` are those besides what the networks' rails carry out.
    """
    found = _payable(mode)
    kinds = [
        kind
        for version in reversed(VERSIONS)
        for scheme in SCHEMES[version]
        for spec in found
        if (kind := _kind(spec, version, scheme, mode, merchant_id)) is not None
    ]
    own = sorted({name for spec in found for name in rail_of(spec.family).extensions})
    signers = _signers(found if mode == Mode.LIVE else [])
    return {"kinds": kinds, "extensions": [*own, *extensions], "signers": signers}


def _kind(spec: ChainSpec, version: int, scheme: str, mode: Mode, merchant_id: int) -> dict[str, Any] | None:
    network, rail = listed_network_of(spec, version), rail_of(spec.family)
    if network is None or scheme not in rail.schemes:
        return None
    extra = rail.kind_extra(spec, scheme, mode, merchant_id=merchant_id)
    if extra is None:
        return None
    kind = {"x402Version": version, "scheme": scheme, "network": network}
    return kind | ({"extra": extra} if extra else {})


def _signers(live: list[ChainSpec]) -> dict[str, list[str]]:
    """Return our accounts by the standard's pattern for a family; they are the same on all its chains."""
    families = {spec.family for spec in live}
    return {
        rail.signers_pattern: list(rail.signers()) if rail.family in families else []
        for rail in RAILS
        if rail.is_always_told or rail.family in families
    }


def _payable(mode: Mode) -> list[ChainSpec]:
    """Return the chains to offer: without an address in `/config` there is nothing to pay to.

    Authorisations that were signed earlier are still carried out.
    """
    offered = offered_chains(mode)
    if mode == Mode.TEST:
        return offered
    payable = payable_chains()
    return [spec for spec in offered if spec.name in payable]
