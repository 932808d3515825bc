"""`GET /x402/supported`: which payments are settled here, as clients of the standard ask for it."""

from typing import Any, Final

from accounts.states import Mode
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import Family
from x402.exact.networks import (
    VERSIONS,
    network_of,
    offered_chains,
    signers_of,
)
from x402.inputs import SCHEME
from x402.payments.addresses import payable_chains

TEST_FEE_PAYER: Final = "F1orinTestFeePayer1111111111111111111111111"
"""Who pays the network in test mode, where nothing is sent: nobody has the key."""


def supported_payload(mode: Mode, *, merchant_id: int) -> dict[str, Any]:
    """Return the answer: kinds of both versions in one list, and the accounts that will carry payments out."""
    found = _payable(mode)
    kinds = [
        kind
        for version in reversed(VERSIONS)
        for spec in found
        if (kind := _kind(spec, version, mode, merchant_id)) is not None
    ]
    signers = {
        pattern: [one for spec in family for one in signers_of(spec)]
        for pattern, family in _families(found, mode)
    }
    return {"kinds": kinds, "extensions": [], "signers": signers}


def _kind(
    spec: ChainSpec, version: int, mode: Mode, merchant_id: int
) -> dict[str, Any] | None:
    network = network_of(spec, version)
    if network is None:
        return None
    kind = {"x402Version": version, "scheme": SCHEME, "network": network}
    if spec.family is not Family.SOLANA:
        return kind
    payers = [TEST_FEE_PAYER] if mode == Mode.TEST else signers_of(spec)
    # A merchant's is always the same: of its servers, one is paid what another one asked for, and all must ask alike.
    return kind | {"extra": {"feePayer": payers[merchant_id % len(payers)]}}


def _families(found: list[ChainSpec], mode: Mode) -> list[tuple[str, list[ChainSpec]]]:
    """Return one chain of each family by the standard's pattern, whose accounts are the same on all; none in test mode."""
    live = found if mode == Mode.LIVE else []
    evm = [spec for spec in live if spec.family is Family.EVM]
    solana = [spec for spec in live if spec.family is Family.SOLANA]
    named = [("eip155:*", evm[:1])]
    return [*named, ("solana:*", solana)] if solana else named


def _payable(mode: Mode) -> list[ChainSpec]:
    """Return the chains that are worth offering: where `/config` has no address, there is nothing to be paid at.

    What was signed before is carried out all the same.
    """
    offered = offered_chains(mode)
    if mode == Mode.TEST:
        return offered
    payable = payable_chains()
    return [spec for spec in offered if spec.name in payable]
