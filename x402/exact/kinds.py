"""`GET /x402/supported`: the kinds of payments settled here."""

from typing import Any

from accounts.states import Mode
from wallets.chains.specs import ChainSpec
from x402.exact.networks import VERSIONS, listed_network_of, offered_chains
from x402.exact.rails import RAILS, rail_of
from x402.inputs import SCHEME
from x402.payments.addresses import payable_chains


def supported_payload(mode: Mode, *, merchant_id: int) -> dict[str, Any]:
    """Return the response: kinds of both versions in one list, and our accounts that will carry payments out."""
    found = _payable(mode)
    kinds = [
        kind
        for version in reversed(VERSIONS)
        for spec in found
        if (kind := _kind(spec, version, mode, merchant_id)) is not None
    ]
    signers = _signers(found if mode == Mode.LIVE else [])
    return {"kinds": kinds, "extensions": [], "signers": signers}


def _kind(spec: ChainSpec, version: int, mode: Mode, merchant_id: int) -> dict[str, Any] | None:
    network = listed_network_of(spec, version)
    if network is None:
        return None
    kind = {"x402Version": version, "scheme": SCHEME, "network": network}
    extra = rail_of(spec.family).kind_extra(mode, merchant_id=merchant_id)
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
