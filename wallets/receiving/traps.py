"""Valid addresses where a merchant's money would be lost: contracts, programs, addresses without an owner."""

from wallets.chains import registry
from wallets.chains.base import AddressError
from wallets.chains.specs import ChainSpec


def refuse_traps(spec: ChainSpec, address: str) -> None:
    """Raise AddressError if a canonical address cannot, or must not, hold a merchant's money on this chain."""
    key = spec.family.address_key(address)
    if key in _tokens(spec):
        raise AddressError("must not be a token contract: money sent there is lost.")
    if key == spec.family.address_key(spec.family.nobody):
        raise AddressError("must not be a burn address: money sent there is lost.")
    spec.family.refuse_trap(address)


def _tokens(spec: ChainSpec) -> set[bytes]:
    """Return every known token contract of the chain, including published ones of its other networks."""
    networks = [
        network for facts in registry.CHAINS if facts.name == spec.name for network in (facts.mainnet, facts.testnet)
    ]
    published = {
        address for network in networks for address in (*network.tokens.values(), *network.wrong_tokens.values())
    }
    configured = {token.address for token in spec.tokens.values()}
    return {spec.family.address_key(text) for text in published | configured}
