"""What tests ask a local Solana node."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from solana.rpc.async_api import AsyncClient
from solders.pubkey import Pubkey

from demo.localnet.solana import programs
from demo.localnet.solana.node import USDC, SolanaNode

CONFIRMED = {"commitment": "confirmed"}


def ask(node: SolanaNode, question: Callable[[AsyncClient], Awaitable[Any]]) -> Any:
    """Ask with the client library."""

    async def run() -> Any:
        async with AsyncClient(node.url) as client:
            return await question(client)

    return asyncio.run(run())


def transaction(node: SolanaNode, signature: str, **options: Any) -> Any:
    """A confirmed transaction as JSON."""
    asked = CONFIRMED | {"maxSupportedTransactionVersion": 0} | options
    return node.rpc("getTransaction", signature, asked)


def listed(node: SolanaNode, owner: str, **options: Any) -> list[str]:
    """The signatures listed of an owner's USDC account."""
    account = node.token_account(owner)
    entries = node.rpc("getSignaturesForAddress", account, CONFIRMED | options)
    return [entry["signature"] for entry in entries]


def payment(node: SolanaNode, owner: str) -> Any:
    """Instructions that pay an owner 7 units."""
    payer, mint = node.payer.pubkey(), Pubkey.from_string(USDC)
    to = Pubkey.from_string(owner)
    return [
        programs.create_account(payer, to, mint, program=programs.TOKEN),
        programs.transfer(
            programs.token_account(payer, mint),
            programs.token_account(to, mint),
            7,
            owner=payer,
            mint=mint,
            program=programs.TOKEN,
        ),
    ]
