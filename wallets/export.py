"""The merchant's export of wallets and transfers."""

from collections.abc import Iterator
from typing import Final

from accounts.models import Merchant
from gateway.core.exports import ExportTable, table_of
from wallets.models import ReceivingWallet, Transfer, WalletChange, WalletProof, WatchedMovement, WatchedWallet

_CHANGE: Final = (
    "chain purpose address requested_by__email requested_at effective_at applied_at cancelled_at failed_at failure"
)
_PROOF: Final = "chain purpose subject address requested_by__email requested_at used_at signature public_key"
# With a deposit's destination and nonce, anybody can have its address send on another token.
_TRANSFER: Final = """
    public_id mode chain tx_hash position token units is_sum sender recipient state block_height block_time
    detected_at confirmed_at orphaned_at token_address deposit__destination deposit__nonce
"""
_WATCHED: Final = "public_id mode chain address label tags status created_at removed_at"
_MOVEMENT: Final = """
    public_id mode wallet__public_id direction chain tx_hash position token units counterparty is_payment state
    block_height block_time detected_at confirmed_at orphaned_at
"""


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    yield table_of(
        "receiving_wallets",
        ReceivingWallet.objects.filter(merchant=merchant),
        "chain address created_at retired_at taken_over_at refused_at objection",
    )
    yield table_of("receiving_wallet_proofs", WalletProof.objects.filter(merchant=merchant), _PROOF)
    yield table_of("receiving_wallet_changes", WalletChange.objects.filter(merchant=merchant), _CHANGE)
    yield table_of("transfers", Transfer.objects.filter(merchant=merchant), _TRANSFER)
    yield table_of("watched_wallets", WatchedWallet.objects.filter(merchant=merchant), _WATCHED)
    yield table_of("watched_wallet_movements", WatchedMovement.objects.filter(merchant=merchant), _MOVEMENT)
