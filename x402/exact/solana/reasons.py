"""The codes of the standard for Solana (PyPI x402 2.25, mechanisms/svm/constants.py)."""

from types import MappingProxyType
from typing import Final

from x402.exact import reasons as usual

_PAYLOAD: Final = "invalid_exact_svm_payload"
_INSTRUCTIONS: Final = f"{_PAYLOAD}_transaction_instructions"

COMPUTE_LIMIT: Final = f"{_INSTRUCTIONS}_compute_limit_instruction"
COMPUTE_PRICE: Final = f"{_INSTRUCTIONS}_compute_price_instruction"
COMPUTE_PRICE_TOO_HIGH: Final = f"{COMPUTE_PRICE}_too_high"
FEE_PAYER_MISSING: Final = f"{_PAYLOAD}_missing_fee_payer"
FEE_PAYER_TRANSFERRING: Final = f"{_PAYLOAD}_transaction_fee_payer_transferring_funds"
FEE_PAYER_UNKNOWN: Final = "fee_payer_not_managed_by_facilitator"
INSTRUCTION_COUNT: Final = f"{_INSTRUCTIONS}_length"
MEMO_COUNT: Final = f"{_PAYLOAD}_memo_count"
MEMO_MISMATCH: Final = f"{_PAYLOAD}_memo_mismatch"
MINT: Final = f"{_PAYLOAD}_mint_mismatch"
NO_TRANSFER: Final = f"{_PAYLOAD}_no_transfer_instruction"
RECIPIENT: Final = f"{_PAYLOAD}_recipient_mismatch"
SIGNATURE: Final = f"{_PAYLOAD}_signature"
SIMULATION: Final = "transaction_simulation_failed"
UNDECODABLE: Final = f"{_PAYLOAD}_transaction_could_not_be_decoded"
UNKNOWN_INSTRUCTIONS: Final = tuple(f"{_PAYLOAD}_unknown_{place}_instruction" for place in ("fourth", "fifth", "sixth"))
"""By position among the optional instructions."""

SPOKEN: Final = MappingProxyType(
    {
        usual.ALREADY_USED: "duplicate_settlement",
        usual.INSUFFICIENT_BALANCE: "transaction_simulation_failed",
        usual.RECIPIENT_MISMATCH: "invalid_exact_svm_payload_recipient_mismatch",
        usual.VALUE_MISMATCH: "invalid_exact_svm_payload_amount_mismatch",
    }
)
"""The usual reasons' names on Solana."""
