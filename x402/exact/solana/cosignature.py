"""Adds our signature to the payer's, stored with the whole transaction before it is sent."""

from datetime import datetime

from settlements.gas.solana_keys import solana_gas_keys
from x402.exact.authorizations import keep_signed
from x402.exact.solana.transfers import Transfer
from x402.models import Authorization


def sign(row: Authorization, transfer: Transfer, *, now: datetime) -> None:
    """Sign a transfer that was read and simulated, and store it. From now on we may owe its network fee."""
    from solders.signature import Signature
    from solders.transaction import VersionedTransaction

    ours = Signature(solana_gas_keys()[transfer.fee_payer].sign(transfer.message))
    signed = VersionedTransaction.from_bytes(transfer.transaction)
    signed.signatures = [ours, signed.signatures[1]]
    row.signed, row.tx_hash = bytes(signed), str(ours)
    row.network_fee = transfer.network_fee
    keep_signed(row, now=now)


def was_signed(row: Authorization) -> bool:
    """Whether a transaction for an authorisation may have been sent."""
    return row.signed is not None
