"""Judges payments on EVM chains with the public standard's own library. Runs with var/x402's Python until its input ends.

A line of input is a JSON object: a `body` of `/verify`, the address of the chain's `node` and the `key` of the account that
pays for gas, in hex; "" for any. A line of output is the reason
why the library would not take the payment; an empty one where it would. The first line names the standard's contracts.
"""

import json
import sys
from typing import Any

from eth_account import Account

from x402.mechanisms.evm import FacilitatorWeb3Signer, constants
from x402.mechanisms.evm.asset_cache import reset_asset_contract_cache
from x402.mechanisms.evm.exact.facilitator import ExactEvmScheme
from x402.mechanisms.evm.exact.v1.facilitator import ExactEvmSchemeV1
from x402.mechanisms.evm.upto.facilitator import UptoEvmScheme
from x402.schemas import PaymentPayload, PaymentRequirements
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

CONTRACTS = {
    "permit2": constants.PERMIT2_ADDRESS,
    "proxy": constants.X402_EXACT_PERMIT2_PROXY_ADDRESS,
    "upto": constants.X402_UPTO_PERMIT2_PROXY_ADDRESS,
    "multicall": constants.MULTICALL3_ADDRESS,
}


def reason(body: dict[str, Any], node: str, key: str) -> str:
    """Why a payment would not be taken; "" where it would."""
    # What was laid where may have changed since the line before.
    reset_asset_contract_cache()
    signer = FacilitatorWeb3Signer(key or Account.create().key.hex(), node)
    payload, wanted = body["paymentPayload"], body["paymentRequirements"]
    if body["x402Version"] == 1:
        told = ExactEvmSchemeV1(signer).verify(
            PaymentPayloadV1.model_validate(payload), PaymentRequirementsV1.model_validate(wanted)
        )
    else:
        scheme = {"exact": ExactEvmScheme, "upto": UptoEvmScheme}[wanted["scheme"]]
        told = scheme(signer).verify(PaymentPayload.model_validate(payload), PaymentRequirements.model_validate(wanted))
    return "" if told.is_valid else str(told.invalid_reason)


def main() -> None:
    """Answer line by line."""
    sys.stdout.write(json.dumps(CONTRACTS) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(reason(**json.loads(line)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
