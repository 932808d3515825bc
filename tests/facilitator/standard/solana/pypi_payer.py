"""Buys a page on Solana with PyPI x402's httpx client: its address as the argument. Runs with var/svm's Python.

The payer's key (base58) is in PAYER_KEY, a node's address in SOLANA_RPC_URL. Prints the page.
"""

import asyncio
import os
import sys

from solders.keypair import Keypair
from x402 import x402Client
from x402.http.clients.httpx import x402HttpxClient
from x402.mechanisms.svm.exact import register_exact_svm_client
from x402.mechanisms.svm.signers import KeypairSigner


async def buy(url: str) -> str:
    """What the page says once it is paid for."""
    keypair = Keypair.from_base58_string(os.environ["PAYER_KEY"])
    client = register_exact_svm_client(
        x402Client(), KeypairSigner(keypair), rpc_url=os.environ["SOLANA_RPC_URL"]
    )
    async with x402HttpxClient(client, timeout=60) as http:
        answer = await http.get(url)
    if answer.status_code != 200:
        raise SystemExit(f"{answer.status_code} {answer.text}")
    return answer.text


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(buy(sys.argv[1])))
