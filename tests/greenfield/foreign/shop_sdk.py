"""Sells and refunds with PyPI's btcpay-python-sdk. Runs with var/x402's Python. Prints what each call returned, as JSON.

The first argument is `order`, or `paid` with the invoice's id after it. BTCPAY_URL, BTCPAY_KEY and BTCPAY_STORE say where.
"""

import json
import os
import sys

import btcpay

btcpay.api_key = os.environ["BTCPAY_KEY"]
btcpay.host_url = os.environ["BTCPAY_URL"] + "/"
btcpay.store_id = os.environ["BTCPAY_STORE"]


def order() -> dict[str, object]:
    """Make an invoice, read it by its id and in the list, and cancel another."""
    made = btcpay.Invoices.create_invoice(amount="25.00", currency="USD", metadata={"orderId": "1001"})
    other = btcpay.Invoices.create_invoice(amount="3.00", currency="USD")
    return {
        "made": made,
        "again": btcpay.Invoices.create_invoice(amount="25.00", currency="USD", metadata={"orderId": "1001"}),
        "read": btcpay.Invoices.get_invoice(made["id"]),
        "listed": btcpay.Invoices.get_invoices(),
        "cancelled": btcpay.Invoices.mark_invoice_status(other["id"], "invalid"),
    }


def paid(invoice: str) -> dict[str, object]:
    """Read a paid invoice with its payments, and refund a part."""
    return {
        "read": btcpay.Invoices.get_invoice(invoice),
        "methods": btcpay.Invoices.get_invoice_payment_methods(invoice),
        "refund": btcpay.PullPayments.create_pull_payment(
            name="Refund of order 1001", amount="5.00", currency="USD", paymentMethods=["USDC-BASE"]
        ),
    }


sys.stdout.write(json.dumps(order() if sys.argv[1] == "order" else paid(sys.argv[2])) + "\n")
