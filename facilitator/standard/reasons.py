"""The codes of the standard and of its published libraries (PyPI x402 2.25) that are given here."""

from typing import Final

ALREADY_USED: Final = "invalid_exact_evm_nonce_already_used"
INSUFFICIENT_BALANCE: Final = "invalid_exact_evm_insufficient_balance"
INVALID_NETWORK: Final = "invalid_network"
INVALID_PAYLOAD: Final = "invalid_payload"
INVALID_REQUIREMENTS: Final = "invalid_payment_requirements"
INVALID_VERSION: Final = "invalid_x402_version"
PENDING: Final = "settlement_pending"
RECIPIENT_MISMATCH: Final = "invalid_exact_evm_payload_recipient_mismatch"
TRANSACTION_FAILED: Final = "transaction_failed"
TRANSFER_MISMATCH: Final = "invalid_exact_evm_transfer_event_mismatch"
UNEXPECTED_SETTLE: Final = "unexpected_settle_error"
UNEXPECTED_VERIFY: Final = "unexpected_verify_error"
UNSUPPORTED_SCHEME: Final = "unsupported_scheme"
VALID_BEFORE: Final = "invalid_exact_evm_payload_authorization_valid_before"
VALUE_MISMATCH: Final = "invalid_exact_evm_payload_authorization_value_mismatch"
