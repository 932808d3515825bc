"""Writing transfers and receiving wallets. One module for each noun; the names that others use are here."""

from wallets.services.changes import (
    apply_wallet_changes,
    cancel_change,
    request_wallet,
)
from wallets.services.receiving import (
    expect_payments,
    set_receiving_wallet,
    usable_address,
)
from wallets.services.transfers import (
    NewTransfer,
    confirm_through,
    confirm_transfers,
    orphan_above,
    orphan_lost,
    orphan_transfers,
    record_transfers,
    revive_transfers,
)

__all__ = [
    "NewTransfer",
    "apply_wallet_changes",
    "cancel_change",
    "confirm_through",
    "confirm_transfers",
    "expect_payments",
    "orphan_above",
    "orphan_lost",
    "orphan_transfers",
    "record_transfers",
    "request_wallet",
    "revive_transfers",
    "set_receiving_wallet",
    "usable_address",
]
