"""The codes of the standard and of its published libraries (PyPI x402 2.25) that Florin uses."""

from types import MappingProxyType
from typing import Final

ALREADY_USED: Final = "invalid_exact_evm_nonce_already_used"
ANOTHERS_IDENTIFIER: Final = "payment_identifier_conflict"
FACTORY: Final = "eip6492_factory_not_allowed"
INSUFFICIENT_BALANCE: Final = "invalid_exact_evm_insufficient_balance"
INVALID_NETWORK: Final = "invalid_network"
INVALID_PAYLOAD: Final = "invalid_payload"
INVALID_REQUIREMENTS: Final = "invalid_payment_requirements"
INVALID_VERSION: Final = "invalid_x402_version"
NAME_MISMATCH: Final = "invalid_exact_evm_token_name_mismatch"
NETWORK_MISMATCH: Final = "network_mismatch"
NOT_DEPLOYED: Final = "asset_not_deployed_contract"
NO_BALANCE: Final = "balance_check_failed"
NO_DOMAIN: Final = "missing_eip712_domain"
NO_EIP3009: Final = "invalid_exact_evm_eip3009_not_supported"
NO_WALLET: Final = "invalid_exact_evm_payload_undeployed_smart_wallet"
OWN_PERMIT_AMOUNT: Final = "permit2_2612_amount_mismatch"
OWN_PERMIT_ASSET: Final = "eip2612_asset_mismatch"
OWN_PERMIT_DEADLINE: Final = "eip2612_deadline_expired"
OWN_PERMIT_FORM: Final = "invalid_eip2612_extension_format"
OWN_PERMIT_OWNER: Final = "eip2612_from_mismatch"
OWN_PERMIT_SPENDER: Final = "eip2612_spender_not_permit2"
PENDING: Final = "settlement_pending"
PERMIT2_ALLOWANCE: Final = "permit2_allowance_required"
PERMIT2_BALANCE: Final = "permit2_insufficient_balance"
PERMIT2_EARLY: Final = "permit2_not_yet_valid"
PERMIT2_NONCE: Final = "permit2_invalid_nonce"
PERMIT2_SIGNATURE: Final = "invalid_permit2_signature"
RECIPIENT_MISMATCH: Final = "invalid_exact_evm_payload_recipient_mismatch"
SIGNATURE: Final = "invalid_exact_evm_payload_signature"
SIMULATION_FAILED: Final = "invalid_exact_evm_transaction_simulation_failed"
TRANSACTION_FAILED: Final = "transaction_failed"
TRANSFER_MISMATCH: Final = "invalid_exact_evm_transfer_event_mismatch"
UNEXPECTED_SETTLE: Final = "unexpected_settle_error"
UNEXPECTED_VERIFY: Final = "unexpected_verify_error"
UNREADABLE_SIGNATURE: Final = "invalid_exact_evm_failed_to_verify_signature"
UNSUPPORTED_SCHEME: Final = "unsupported_scheme"
UPTO_EXCEEDED: Final = "invalid_upto_evm_payload_settlement_exceeds_amount"
UPTO_FACILITATOR: Final = "upto_facilitator_mismatch"
UPTO_NOTHING: Final = "invalid_permit2_amount"
VALID_AFTER: Final = "invalid_exact_evm_payload_authorization_valid_after"
VALID_BEFORE: Final = "invalid_exact_evm_payload_authorization_valid_before"
VALUE_MISMATCH: Final = "invalid_exact_evm_payload_authorization_value_mismatch"
VERSION_MISMATCH: Final = "invalid_exact_evm_token_version_mismatch"

UPTO: Final = MappingProxyType(
    {
        INSUFFICIENT_BALANCE: PERMIT2_BALANCE,
        RECIPIENT_MISMATCH: "invalid_permit2_recipient_mismatch",
        SIMULATION_FAILED: "invalid_upto_evm_transaction_failed",
        TRANSACTION_FAILED: "invalid_upto_evm_transaction_failed",
        VALID_BEFORE: "permit2_deadline_expired",
        VALUE_MISMATCH: "permit2_amount_mismatch",
    }
)
"""The usual reasons' names in scheme `upto`."""
