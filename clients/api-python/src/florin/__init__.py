"""Client of Florin's API: stablecoin checkouts, refunds and verified webhooks.

`Florin` calls the API, `florin.webhooks` verifies what it sends, `florin.receipts` checks signed receipts, `florin.testing` signs a body
for your tests, and `florin.types` has the shapes of requests and answers.
"""

from florin import receipts, testing, types, webhooks
from florin.client import Florin
from florin.errors import ApiError, FlorinError, NoAnswerError, OtherModeError, ReceiptError, SignatureError

__all__ = [
    "ApiError",
    "Florin",
    "FlorinError",
    "NoAnswerError",
    "OtherModeError",
    "ReceiptError",
    "SignatureError",
    "receipts",
    "testing",
    "types",
    "webhooks",
]
