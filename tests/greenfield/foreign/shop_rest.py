"""Sells with PyPI's btcpay-rest-client. Runs with var/x402's Python. Prints what each call returned, as JSON, in its last line.

The first argument is `order`, or `paid` with the invoice's id after it. BTCPAY_URL, BTCPAY_KEY and BTCPAY_STORE say where. The library
makes webhooks with an address of its own invention, and reads its key without having kept it, so neither is tried.
"""

import json
import os
import sys

from btcpay_rest_client.api import BTCPayServerAPIClient

client = BTCPayServerAPIClient.login_token(os.environ["BTCPAY_URL"], os.environ["BTCPAY_KEY"])
client.set_store_id(os.environ["BTCPAY_STORE"])


def order() -> dict[str, object]:
    """Make an invoice, and read it, the store, the server and the webhooks."""
    wanted = {
        "amount": "25.00",
        "currency": "USD",
        "metadata": {"orderId": "1001"},
        "checkout": {"speedPolicy": "HighSpeed", "expirationMinutes": 15},
    }
    made = client.create_invoice(wanted)
    return {
        "made": made,
        "again": client.create_invoice(wanted),
        "read": client.get_invoice(made["id"]),
        "page": client.get_invoice_url(made["id"]),
        "stores": client.list_stores(),
        "server": client.server_info(),
        "webhooks": client.webhooks_get(),
    }


def paid(invoice: str) -> dict[str, object]:
    """Read a paid invoice with its payments."""
    return {"read": client.get_invoice(invoice), "methods": client.get_invoice_payment_methods(invoice)}


sys.stdout.write(json.dumps(order() if sys.argv[1] == "order" else paid(sys.argv[2])) + "\n")
