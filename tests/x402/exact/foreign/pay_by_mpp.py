"""Buys a page with PyPI pympp: its address as the argument, the payer's key in PAYER_KEY. Runs with var/x402's Python.

Prints the page, and the receipt of MPP if there is one.
"""

import asyncio
import json
import os
import sys
from typing import Any

from eth_account import Account
from mpp import Receipt
from mpp.client import Mpp
from mpp.methods.evm import BASE_USDC
from mpp.methods.evm import client as evm


async def buy(url: str) -> dict[str, Any]:
    """What the payer got."""
    method = evm.charge(currency=BASE_USDC, account=Account.from_key(os.environ["PAYER_KEY"]), max_amount="1")
    async with Mpp(methods=[method]) as client:
        answer = await client.fetch(url)
    header = answer.headers.get("Payment-Receipt")
    receipt = Receipt.from_payment_receipt(header) if header else None
    told = {"status": receipt.status, "reference": receipt.reference, "method": receipt.method} if receipt else None
    return {"status": answer.status_code, "page": answer.text, "receipt": told}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(buy(sys.argv[1]))))
