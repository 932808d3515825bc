"""Programs of the local Solana node."""

from typing import Any

from demo.localnet.solana import programs
from demo.localnet.solana.node import SolanaNode

CONFIRMED = {"commitment": "confirmed"}


def transaction(node: SolanaNode, signature: str, **options: Any) -> Any:
    """A confirmed transaction as JSON."""
    asked = CONFIRMED | {"maxSupportedTransactionVersion": 0} | options
    return node.rpc("getTransaction", signature, asked)


def test_token_2022_moves_by_the_other_program(solana_node: SolanaNode, solana_owner: str) -> None:
    token = solana_node.create_token(program=programs.TOKEN_2022)
    solana_node.fund(str(solana_node.payer.pubkey()), 100, token=token)
    sent = solana_node.pay(solana_owner, 30, token=token)
    balances = transaction(solana_node, sent)["meta"]["postTokenBalances"]
    assert {one["programId"] for one in balances} == {str(programs.TOKEN_2022)}
    assert solana_node.balance(solana_owner, token=token) == 30
    options = {"encoding": "jsonParsed", "commitment": "confirmed"}
    found = solana_node.rpc("getTokenAccountsByOwner", solana_owner, {"mint": token}, options)
    info = found["value"][0]["account"]["data"]["parsed"]["info"]
    assert (info["mint"], info["tokenAmount"]["amount"]) == (token, "30")
