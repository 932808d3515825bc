"""Changes to merchants, teams and keys. Each that touches money or access writes an audit entry beside it.

One module for each noun; the names that other apps use are here.
"""

from accounts.services.audit import record
from accounts.services.keys import create_api_key, revoke_api_key
from accounts.services.merchants import (
    create_merchant,
    doubt_round_prices,
    let_buyers_retry,
    mail_receipts,
)

__all__ = [
    "create_api_key",
    "create_merchant",
    "doubt_round_prices",
    "let_buyers_retry",
    "mail_receipts",
    "record",
    "revoke_api_key",
]
