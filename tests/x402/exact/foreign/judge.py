"""Judges and settles payments on EVM chains with the public standard's own library. Runs with var/x402's Python until its input ends.

A line of input is a JSON object: a `body` of `/verify` or, with `settles`, of `/settle`, the address of the chain's `node` and the `key` of
the account that pays for gas, in hex; "" for any. A line of output is the reason
why the library would not take the payment, an empty one where it would; or the JSON object of its answer to the settlement. The first
line names the standard's contracts.
"""

import json
import sys
from typing import Any

from eth_account import Account

from x402.mechanisms.evm import FacilitatorWeb3Signer, constants
from x402.mechanisms.evm.asset_cache import reset_asset_contract_cache
from x402.mechanisms.evm.exact.facilitator import ExactEvmScheme, ExactEvmSchemeConfig
from x402.mechanisms.evm.exact.v1.facilitator import ExactEvmSchemeV1, ExactEvmSchemeV1Config
from x402.mechanisms.evm.upto.facilitator import UptoEvmScheme, UptoEvmSchemeConfig
from x402.schemas import PaymentPayload, PaymentRequirements
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

CONTRACTS = {
    "permit2": constants.PERMIT2_ADDRESS,
    "proxy": constants.X402_EXACT_PERMIT2_PROXY_ADDRESS,
    "upto": constants.X402_UPTO_PERMIT2_PROXY_ADDRESS,
    "multicall": constants.MULTICALL3_ADDRESS,
}


def opened(body: dict[str, Any], node: str, key: str) -> tuple[Any, Any, Any]:
    """The scheme that a body is of, its payload and its requirements. A settlement looks at the chain first, as a verification does."""
    # What was laid where may have changed since the line before.
    reset_asset_contract_cache()
    signer = FacilitatorWeb3Signer(key or Account.create().key.hex(), node)
    payload, wanted = body["paymentPayload"], body["paymentRequirements"]
    if body["x402Version"] == 1:
        scheme: Any = ExactEvmSchemeV1(signer, ExactEvmSchemeV1Config(simulate_in_settle=True))
        return scheme, PaymentPayloadV1.model_validate(payload), PaymentRequirementsV1.model_validate(wanted)
    if wanted["scheme"] == "upto":
        scheme = UptoEvmScheme(signer, UptoEvmSchemeConfig(simulate_in_settle=True))
    else:
        scheme = ExactEvmScheme(signer, ExactEvmSchemeConfig(simulate_in_settle=True))
    return scheme, PaymentPayload.model_validate(payload), PaymentRequirements.model_validate(wanted)


def answer(body: dict[str, Any], node: str, key: str, settles: bool = False) -> str:
    """What the library says of a body, in a line."""
    scheme, payload, wanted = opened(body, node, key)
    if settles:
        told = scheme.settle(payload, wanted)
        return json.dumps(told.model_dump(mode="json", by_alias=True, exclude_none=True))
    told = scheme.verify(payload, wanted)
    return "" if told.is_valid else str(told.invalid_reason)


def main() -> None:
    """Answer line by line."""
    sys.stdout.write(json.dumps(CONTRACTS) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(answer(**json.loads(line)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
