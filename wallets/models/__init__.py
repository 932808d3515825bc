"""Facts read from chains, and the addresses they are read for.

Independent of checkouts: a deposit address stores the nonce that it was derived from, and the nonce's creator finds its
transfers by that.
"""

from wallets.models.cursors import EPOCH, AccountCursor, Block, ChainCursor
from wallets.models.receiving import SIGNATURE_LENGTH, ReceivingWallet, WalletChange, WalletProof
from wallets.models.transfers import (
    DepositAddress,
    DepositBalance,
    DepositOutflow,
    DepositTotal,
    SourceDifference,
    Transfer,
    TransferClaim,
    TransferDay,
    TransferQuerySet,
    TransferReturn,
    WitnessRequest,
)
from wallets.models.watched import WatchedBalance, WatchedDay, WatchedMovement, WatchedWallet

__all__ = [
    "EPOCH",
    "SIGNATURE_LENGTH",
    "AccountCursor",
    "Block",
    "ChainCursor",
    "DepositAddress",
    "DepositBalance",
    "DepositOutflow",
    "DepositTotal",
    "ReceivingWallet",
    "SourceDifference",
    "Transfer",
    "TransferClaim",
    "TransferDay",
    "TransferQuerySet",
    "TransferReturn",
    "WalletChange",
    "WalletProof",
    "WatchedBalance",
    "WatchedDay",
    "WatchedMovement",
    "WatchedWallet",
    "WitnessRequest",
]
