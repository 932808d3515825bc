"""Writing transfers and receiving wallets. One module for each noun; the names that others use are here."""

from wallets.services.changes import (
    apply_wallet_changes,
    cancel_change,
    request_wallet,
)
from wallets.services.machinewallets import set_machine_wallet
from wallets.services.movements import (
    NewMovement,
    NewOutflow,
    confirm_movements,
    detach_movements,
    orphan_lost_movements,
    orphan_movements,
    record_movements,
    record_outflows,
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
    "NewMovement",
    "NewOutflow",
    "NewTransfer",
    "apply_wallet_changes",
    "cancel_change",
    "confirm_movements",
    "confirm_through",
    "confirm_transfers",
    "detach_movements",
    "expect_payments",
    "orphan_above",
    "orphan_lost",
    "orphan_lost_movements",
    "orphan_movements",
    "orphan_transfers",
    "record_movements",
    "record_outflows",
    "record_transfers",
    "request_wallet",
    "revive_transfers",
    "set_machine_wallet",
    "set_receiving_wallet",
    "usable_address",
]
