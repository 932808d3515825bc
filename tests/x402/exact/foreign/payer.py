"""Buys a page with PyPI x402's client for httpx: its address as the argument. Runs with var/x402's Python. Prints the page.

PAYER_KEY is the payer's key: in hex for EVM chains, in base58 for Solana, where SOLANA_RPC_URL is a node's address. ALLOWED
may be a network and an asset that the client does not know by itself, with a space between. With SCHEME=upto it signs maximums;
with a node's address in RPC_URL also the token's own permit, if that is needed. With CLIENT=requests it pays by requests. WALLET is a
contract that the key's owner signs for, FACTORY and FACTORY_DATA what deploys it (ERC-6492).
"""

import asyncio
import os
import sys
from typing import Any

from x402 import x402Client, x402ClientSync
from x402.client import SpendControlAsset, SpendControls


class Wallet:
    """Signs for a contract: longer than a key's signature, and with what deploys the contract around it, if it is not there yet."""

    def __init__(self, address: str, owner: Any) -> None:
        self.address = address
        self._owner = owner

    def sign_typed_data(self, domain: Any, types: Any, primary_type: str, message: Any) -> bytes:
        """Sign typed data."""
        from eth_abi import encode

        signed: bytes = self._owner.sign_typed_data(domain, types, primary_type, message) + b"\0"
        factory = os.environ.get("FACTORY")
        if not factory:
            return signed
        data = bytes.fromhex(os.environ["FACTORY_DATA"][2:])
        wrapped: bytes = encode(["address", "bytes", "bytes"], [factory, data, signed])
        return wrapped + bytes.fromhex("6492" * 16)


def on_evm(client: Any, key: str) -> None:
    """Let the client pay on EVM chains."""
    from eth_account import Account

    from x402.mechanisms.evm import EthAccountSigner
    from x402.mechanisms.evm.exact import register_exact_evm_client
    from x402.mechanisms.evm.signers import EthAccountSignerWithRPC
    from x402.mechanisms.evm.upto import UptoEvmClientScheme

    account, node = Account.from_key(key), os.environ.get("RPC_URL")
    signer: Any = EthAccountSignerWithRPC(account, node) if node else EthAccountSigner(account)
    if wallet := os.environ.get("WALLET"):
        signer = Wallet(wallet, signer)
    if os.environ.get("SCHEME") == "upto":
        client.register("eip155:*", UptoEvmClientScheme(signer))
    else:
        register_exact_evm_client(client, signer)


def on_solana(client: Any, key: str, node: str) -> None:
    """Let the client pay on Solana."""
    from solders.keypair import Keypair

    from x402.mechanisms.svm.exact import register_exact_svm_client
    from x402.mechanisms.svm.signers import KeypairSigner

    signer = KeypairSigner(Keypair.from_base58_string(key))
    register_exact_svm_client(client, signer, rpc_url=node)


def prepared(client: Any) -> Any:
    """A client that can pay what it is asked to."""
    key = os.environ["PAYER_KEY"]
    if node := os.environ.get("SOLANA_RPC_URL"):
        on_solana(client, key, node)
    else:
        on_evm(client, key)
    if allowed := os.environ.get("ALLOWED"):
        network, asset = allowed.split()
        known = SpendControlAsset(network=network, asset=asset)
        client.set_spend_controls(SpendControls(allowed_assets=[known]))
    return client


async def by_httpx(url: str) -> tuple[int, str]:
    """The status and the page."""
    from x402.http.clients.httpx import x402HttpxClient

    async with x402HttpxClient(prepared(x402Client()), timeout=60) as http:
        answer = await http.get(url)
    return answer.status_code, answer.text


def by_requests(url: str) -> tuple[int, str]:
    """The same with requests."""
    from x402.http.clients.requests import x402_requests

    with x402_requests(prepared(x402ClientSync())) as session:
        answer = session.get(url, timeout=60)
    return answer.status_code, answer.text


def main() -> None:
    """Buy, and print the page."""
    url = sys.argv[1]
    status, page = by_requests(url) if os.environ.get("CLIENT") == "requests" else asyncio.run(by_httpx(url))
    if status != 200:
        raise SystemExit(f"{status} {page}")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
