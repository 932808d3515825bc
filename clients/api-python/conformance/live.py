"""Sells and refunds at a running Florin in test mode, and prints what came of it. Arguments: its address, a test key, where webhooks go.

With a file as its only argument it verifies the webhook in it: `body`, `headers` and `secret`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from florin import ApiError, Florin, webhooks


def sold(url: str, key: str, hook: str) -> dict[str, Any]:
    """Create, pay, list and refund."""
    florin = Florin(url, key)
    first = florin.checkouts.create(amount="25.00", currency="USD", order_ref="live-1", webhook_url=hook)
    again = florin.checkouts.create(amount="25.00", currency="USD", order_ref="live-1", webhook_url=hook)
    others = [florin.checkouts.create(amount="1.00", currency="USD")["id"] for _ in range(2)]
    florin.checkouts.advance(first["id"], steps=1)
    refund = florin.refunds.create(source={"checkout": first["id"]}, amount="5.00", reference="live-r-1")
    refused: list[Any] = []
    try:
        florin.checkouts.get("chk_test_none")
    except ApiError as error:
        refused = [error.status, error.code, error.request_id is not None]
    told = {
        "same": first["id"] == again["id"],
        "listed": [each["id"] for each in florin.checkouts.list(limit=2)] == [*reversed(others), first["id"]],
        "status": florin.checkouts.get(first["id"])["status"],
        "refund": [refund["status"], refund["amount"]],
        "refused": refused,
        "checkout": first["id"],
    }
    florin.close()
    return told


def verified(told: Any) -> str:
    """Return the checkout of a webhook's event."""
    return webhooks.construct(told["body"].encode(), told["headers"], told["secret"], livemode=False)["checkout_id"]


if len(sys.argv) == 2:
    sys.stdout.write(verified(json.loads(Path(sys.argv[1]).read_text())))
else:
    sys.stdout.write(json.dumps(sold(*sys.argv[1:])))
