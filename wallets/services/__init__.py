"""Writing transfers and receiving wallets. One module for each noun; the names that others use are here."""

from wallets.receiving.changes import (
    apply_wallet_changes,
    cancel_change,
    request_wallet,
)
from wallets.receiving.claims import (
    ProofRequiredError,
    claims_to_release,
    is_awaited,
    release_claim,
)
from wallets.receiving.machine_wallets import set_machine_wallet
from wallets.receiving.proofs import (
    message_of,
    prove_wallet,
    start_proof,
)
from wallets.receiving.service import (
    expect_payments,
    set_receiving_wallet,
    usable_address,
)
from wallets.transfers.movements import (
    NewMovement,
    NewOutflow,
    confirm_movements,
    detach_movements,
    orphan_lost_movements,
    orphan_movements,
    record_movements,
    record_outflows,
)
from wallets.transfers.service import (
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
    "ProofRequiredError",
    "apply_wallet_changes",
    "cancel_change",
    "claims_to_release",
    "confirm_movements",
    "confirm_through",
    "confirm_transfers",
    "detach_movements",
    "expect_payments",
    "is_awaited",
    "message_of",
    "orphan_above",
    "orphan_lost",
    "orphan_lost_movements",
    "orphan_movements",
    "orphan_transfers",
    "prove_wallet",
    "record_movements",
    "record_outflows",
    "record_transfers",
    "release_claim",
    "request_wallet",
    "revive_transfers",
    "set_machine_wallet",
    "set_receiving_wallet",
    "start_proof",
    "usable_address",
]
