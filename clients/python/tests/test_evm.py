"""A wallet on an EVM chain: what it signs, what it asks a node for, and what it does not send."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account

from florin_x402.evm import EvmWallet, WalletError
from florin_x402.payer import PaymentWanted
from serving import served
from standin import PAY_TO, USDC

# The key and the signature of eth_account's documentation.
KEY = "0xb25c7db31feed9122727bf0939dc769a96564b2de4c4726d035b36ecf1e5b364"
SIGNED = (
    "0xe6ca9bba58c88611fad66a6ce8f996908195593807c4b38bd528d2cff09d4eb3"
    "3e5bfbbf4d3e39b1a2fd816a7680c19ebebaf3a141b239934ad43cb33fcec8ce1c"
)
CHAIN_ID = 8453
NONCE = 7
GAS_PRICE = 10**9


class Node:
    """A node that answers what it is told, and keeps what it is asked."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.raw = ""
        self.answers: dict[str, Any] = {
            "eth_chainId": hex(CHAIN_ID),
            "eth_call": f"0x{6:064x}",
            "eth_gasPrice": hex(GAS_PRICE),
            "eth_getTransactionCount": hex(NONCE),
            "eth_getTransactionReceipt": {"status": "0x1"},
        }

    def __call__(self, environ: Any, start_response: Any) -> list[bytes]:
        """Answer JSON-RPC, as a WSGI application."""
        told = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        method = told["method"]
        self.asked.append(method)
        if method == "eth_sendRawTransaction":
            [self.raw] = told["params"]
        start_response("200 OK", [("Content-Type", "application/json")])
        answer = self.answers.get(method)
        found = answer if isinstance(answer, dict) and "error" in answer else {"result": answer}
        return [json.dumps({"jsonrpc": "2.0", "id": told["id"]} | found).encode()]


@pytest.fixture
def node() -> Iterator[Node]:
    """A node that puts everything into a block."""
    node = Node()
    with served(node) as node.url:
        yield node


def wallet_on(node: Node, **changes: Any) -> EvmWallet:
    fields: dict[str, Any] = {"key": KEY, "rpc_url": node.url, "chain_id": CHAIN_ID, "network": "base", "token": "USDC"}
    return EvmWallet(**(fields | {"contract": USDC, "seconds": 5.0} | changes))


def wanted(**changes: Any) -> PaymentWanted:
    fields: dict[str, Any] = {"network": "base", "token": "USDC", "amount": Decimal("1.5")}
    return PaymentWanted(**(fields | {"pay_to": PAY_TO, "resource": "/"} | changes))


def test_a_message_is_signed_as_eip_191_says(node: Node) -> None:
    assert wallet_on(node).sign("I♥SF") == SIGNED
    assert wallet_on(node, signs=False).sign("I♥SF") == ""


def test_the_transfer_that_was_asked_for_is_signed_and_its_hash_told_before_it_goes(node: Node) -> None:
    told: list[tuple[str, bool]] = []
    wallet = wallet_on(node)
    tx_hash = wallet.pay(wanted(), sent=lambda found: told.append((found, "eth_sendRawTransaction" in node.asked)))
    assert told == [(tx_hash, False)]
    signed = signed_for(2 * GAS_PRICE + 10**9)
    assert (node.raw, tx_hash) == (signed.raw_transaction.to_0x_hex(), signed.hash.to_0x_hex())


def signed_for(most_wei: int) -> Any:
    """The transfer that is wanted, at most so much for a unit of gas."""
    # transfer(address,uint256) of 1.5 with six decimals.
    transfer = {
        "type": 2,
        "chainId": CHAIN_ID,
        "nonce": NONCE,
        "to": USDC,
        "value": 0,
        "data": f"0xa9059cbb{PAY_TO[2:].lower():0>64}{1_500_000:064x}",
        "gas": 120_000,
        "maxFeePerGas": most_wei,
        "maxPriorityFeePerGas": 10**9,
    }
    return Account.sign_transaction(transfer, KEY)


@pytest.mark.parametrize("most_gwei", [1, 2])
def test_a_unit_of_gas_costs_no_more_than_the_wallet_may_pay(node: Node, most_gwei: int) -> None:
    tx_hash = wallet_on(node, most_gwei=most_gwei).pay(wanted(), sent=lambda found: None)
    assert tx_hash == signed_for(most_gwei * 10**9).hash.to_0x_hex()


@pytest.mark.parametrize(
    ("wallet", "asked"),
    [
        ({"chain_id": 1}, {}),
        ({"most_gwei": 0}, {}),
        ({"rpc_url": "http://127.0.0.1:9"}, {}),
        ({}, {"pay_to": "0x12"}),
        ({}, {"pay_to": "0x" + "g" * 40}),
        ({}, {"amount": Decimal("0.0000001")}),
    ],
)
def test_what_cannot_be_sent_right_is_not_sent(node: Node, wallet: dict[str, Any], asked: dict[str, Any]) -> None:
    sent: list[str] = []
    with pytest.raises(WalletError):
        wallet_on(node, **wallet).pay(wanted(**asked), sent=sent.append)
    assert sent == []
    assert "eth_sendRawTransaction" not in node.asked


def test_a_token_with_other_decimals_than_the_wallet_was_told_is_not_sent(node: Node) -> None:
    """On BNB Smart Chain USDC has 18: with six, a million-millionth of the price would go."""
    node.answers["eth_call"] = f"0x{18:064x}"
    sent: list[str] = []
    with pytest.raises(WalletError, match="set decimals=18"):
        wallet_on(node).pay(wanted(), sent=sent.append)
    assert (sent, node.raw) == ([], "")
    assert wallet_on(node, decimals=18).pay(wanted(), sent=sent.append) == sent[0]
    assert f"{1_500_000 * 10**12:064x}" in node.raw


@pytest.mark.parametrize("answer", ["0x", None, {"error": {"code": 3, "message": "execution reverted"}}])
def test_a_contract_that_says_no_decimals_is_not_paid_with(node: Node, answer: Any) -> None:
    node.answers["eth_call"] = answer
    with pytest.raises(WalletError):
        wallet_on(node).pay(wanted(), sent=lambda found: None)
    assert node.raw == ""


@pytest.mark.parametrize(("message", "is_paid"), [("already known", True), ("nonce too low", False)])
def test_a_transfer_that_the_node_has_already_counts_as_sent_and_no_other_refusal_does(
    node: Node, message: str, is_paid: bool
) -> None:
    node.answers["eth_sendRawTransaction"] = {"error": {"code": -32000, "message": message}}
    sent: list[str] = []
    if is_paid:
        assert [wallet_on(node).pay(wanted(), sent=sent.append)] == sent
        return
    with pytest.raises(WalletError, match=message):
        wallet_on(node).pay(wanted(), sent=sent.append)
    assert len(sent) == 1


def test_a_transfer_that_fails_on_the_chain_is_no_payment(node: Node) -> None:
    node.answers["eth_getTransactionReceipt"] = {"status": "0x0"}
    sent: list[str] = []
    with pytest.raises(WalletError, match="failed on the chain"):
        wallet_on(node).pay(wanted(), sent=sent.append)
    assert len(sent) == 1


def test_a_wallet_shows_no_key(node: Node) -> None:
    assert KEY not in repr(wallet_on(node))
