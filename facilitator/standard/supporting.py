"""`GET /x402/supported`: which payments are settled here, as clients of the standard ask for it."""

from typing import Any

from accounts.states import Mode
from facilitator.inputs import SCHEME
from facilitator.standard.networks import VERSIONS, network_of, offered_chains
from settlements.gas.keys import gas_keys


def supported_payload(mode: Mode) -> dict[str, Any]:
    """Return the answer: kinds of both versions in one list, and the accounts that will carry payments out."""
    found = offered_chains(mode)
    kinds = [
        {"x402Version": version, "scheme": SCHEME, "network": network}
        for version in reversed(VERSIONS)
        for spec in found
        if (network := network_of(spec, version)) is not None
    ]
    signers = list(gas_keys()) if found and mode == Mode.LIVE else []
    return {"kinds": kinds, "extensions": [], "signers": {"eip155:*": signers}}
