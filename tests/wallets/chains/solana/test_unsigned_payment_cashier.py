"""What Solana's nodes may answer when a payment is prepared, however wrong; and how little they are asked."""

from collections.abc import Iterator
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.transaction import Transaction

from localnet.solana.node import USDC, SolanaNode
from tests.nodes.proxy import RpcProxy, results
from tests.wallets.chains.rpc.test_pool import Clock
from wallets.chains.base import ChainUnavailableError, MalformedAnswerError
from wallets.chains.family import NotEnoughError, PaymentOrder, TokenSpec
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana.unsigned_payment import BLOCKHASH_SECONDS, SolanaCashier

BUYER, MERCHANT = str(Keypair().pubkey()), str(Keypair().pubkey())

NULL_KEY = "1" * 32


@pytest.fixture
def proxy(solana_node: SolanaNode) -> Iterator[RpcProxy]:
    solana_node.fund(BUYER, 100)
    with RpcProxy(solana_node.url) as opened:
        yield opened


def on_solana(units: int = 100) -> PaymentOrder:
    token = TokenSpec("USDC", USDC, 6, accepted=True)
    return PaymentOrder(BUYER, MERCHANT, token, units, bytes(range(32)))


def test_a_payment_costs_two_requests_and_one_while_the_block_is_new(proxy: RpcProxy) -> None:
    clock = Clock()
    cashier = SolanaCashier(RpcPool([proxy.url]), clock=clock)
    counts = []
    for seconds in (0.0, 1.0, BLOCKHASH_SECONDS):
        clock.seconds += seconds
        before = proxy.requests
        cashier.prepare(on_solana())
        counts.append(proxy.requests - before)
    # The first also asks, once and for all, who keeps the token.
    assert counts == [3, 1, 2]


def test_a_payer_without_the_amount_is_told_before_anything_is_written(proxy: RpcProxy) -> None:
    cashier = SolanaCashier(RpcPool([proxy.url]))
    with pytest.raises(NotEnoughError):
        cashier.prepare(on_solana(101))


def in_context(value: Any) -> dict[str, Any]:
    return {"context": {"slot": 1}, "value": value}


def token_account(data: str, owner: str = "") -> dict[str, Any]:
    program = owner or "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
    return {"owner": program, "data": [data, "base64"]}


WRONG_ON_SOLANA: dict[str, tuple[str, Any]] = {
    "nothing": ("getMultipleAccounts", None),
    "no accounts": ("getMultipleAccounts", in_context(None)),
    "one account": ("getMultipleAccounts", in_context([None])),
    "three accounts": ("getMultipleAccounts", in_context([None] * 3)),
    "numbers": ("getMultipleAccounts", in_context([7, 7])),
    "no data": ("getMultipleAccounts", in_context([{"owner": token_account("")["owner"]}] * 2)),
    "short data": ("getMultipleAccounts", in_context([token_account("AAAA")] * 2)),
    "no base64": ("getMultipleAccounts", in_context([token_account("?")] * 2)),
    "an owner that is a list": ("getMultipleAccounts", in_context([{"owner": ["x"], "data": ["", "base64"]}] * 2)),
    "no hash": ("getLatestBlockhash", in_context({})),
    "a hash that is a number": ("getLatestBlockhash", in_context({"blockhash": 1})),
    "a hash that is short": ("getLatestBlockhash", in_context({"blockhash": "abc"})),
    "a hash without context": ("getLatestBlockhash", {"blockhash": NULL_KEY}),
    "a program that is none": ("getAccountInfo", in_context(token_account("", BUYER))),
    "no token": ("getAccountInfo", in_context(None)),
}


@pytest.mark.parametrize("case", WRONG_ON_SOLANA)
def test_a_wrong_answer_of_a_solana_node_is_an_error_of_the_chain(case: str, proxy: RpcProxy) -> None:
    method, answer = WRONG_ON_SOLANA[case]
    proxy.fault = results(lambda asked, told: answer if asked == method else told)
    with pytest.raises((MalformedAnswerError, ChainUnavailableError)):
        SolanaCashier(RpcPool([proxy.url])).prepare(on_solana())


def test_an_address_that_only_got_its_rent_is_no_token_account(proxy: RpcProxy, solana_node: SolanaNode) -> None:
    solana_node.airdrop(solana_node.token_account(MERCHANT), 2_000_000)
    transaction = SolanaCashier(RpcPool([proxy.url])).prepare(on_solana())
    assert len(Transaction.from_bytes(transaction).message.instructions) == 3
