"""Buys a page with PyPI x402's httpx client: its address as the argument. Runs with var/x402's Python. Prints the page.

PAYER_KEY is the payer's key: in hex for EVM chains, in base58 for Solana, where SOLANA_RPC_URL is a node's address. ALLOWED
may be a network and an asset that the client does not know by itself, with a space between. With SCHEME=upto it signs maximums;
with a node's address in RPC_URL also the token's own permit, if that is needed.
"""

import asyncio
import os
import sys

from x402 import x402Client
from x402.client import SpendControlAsset, SpendControls
from x402.http.clients.httpx import x402HttpxClient


def on_evm(client: x402Client, key: str) -> None:
    """Let the client pay on EVM chains."""
    from eth_account import Account

    from x402.mechanisms.evm import EthAccountSigner
    from x402.mechanisms.evm.exact import register_exact_evm_client
    from x402.mechanisms.evm.signers import EthAccountSignerWithRPC
    from x402.mechanisms.evm.upto import UptoEvmClientScheme

    account, node = Account.from_key(key), os.environ.get("RPC_URL")
    signer = EthAccountSignerWithRPC(account, node) if node else EthAccountSigner(account)
    if os.environ.get("SCHEME") == "upto":
        client.register("eip155:*", UptoEvmClientScheme(signer))
    else:
        register_exact_evm_client(client, signer)


def on_solana(client: x402Client, key: str, node: str) -> None:
    """Let the client pay on Solana."""
    from solders.keypair import Keypair

    from x402.mechanisms.svm.exact import register_exact_svm_client
    from x402.mechanisms.svm.signers import KeypairSigner

    signer = KeypairSigner(Keypair.from_base58_string(key))
    register_exact_svm_client(client, signer, rpc_url=node)


async def buy(url: str) -> str:
    """What the page says once it is paid for."""
    client, key = x402Client(), os.environ["PAYER_KEY"]
    if node := os.environ.get("SOLANA_RPC_URL"):
        on_solana(client, key, node)
    else:
        on_evm(client, key)
    if allowed := os.environ.get("ALLOWED"):
        network, asset = allowed.split()
        known = SpendControlAsset(network=network, asset=asset)
        client.set_spend_controls(SpendControls(allowed_assets=[known]))
    async with x402HttpxClient(client, timeout=60) as http:
        answer = await http.get(url)
    if answer.status_code != 200:
        raise SystemExit(f"{answer.status_code} {answer.text}")
    return answer.text


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(buy(sys.argv[1])))
