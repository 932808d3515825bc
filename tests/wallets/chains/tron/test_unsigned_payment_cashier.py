"""What Tron's nodes may answer when a payment is prepared or sent, however wrong."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from localnet.tron import USDT, TronNode
from localnet.tron.addresses import to_base58
from tests.nodes.proxy import RpcProxy, results
from tests.wallets.chains.tron.test_unsigned_payment import ON_CHAIN
from tests.wallets.contract.hostile import Answer, HttpProxy
from wallets.chains.base import ChainError, ChainUnavailableError, MalformedAnswerError
from wallets.chains.family import PaymentOrder, SignedOtherwiseError, TokenSpec, TransactionRefusedError
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.tron.unsigned_payment import TronCashier

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

LATER = NOW + timedelta(minutes=30)


@pytest.fixture
def tron_proxy(tron_node: TronNode) -> Iterator[RpcProxy]:
    with RpcProxy(tron_node.url) as opened:
        yield opened


def on_tron(node: TronNode) -> PaymentOrder:
    token = TokenSpec("USDT", USDT, 6, accepted=True)
    merchant = to_base58(node.anvil.accounts[6].address)
    return PaymentOrder(node.payer_address, merchant, token, 100)


def tron_cashier(url: str, grid_url: str) -> TronCashier:
    return TronCashier(RpcPool([url]), RpcPool([Node(grid_url)]))


WRONG_ON_TRON: dict[str, tuple[str, Any]] = {
    "no block": ("eth_getBlockByNumber", None),
    "a list": ("eth_getBlockByNumber", []),
    "no number": ("eth_getBlockByNumber", {"hash": "0x" + "00" * 32}),
    "a number that is none": ("eth_getBlockByNumber", {"number": "7", "hash": "0x" + "00" * 32}),
    "a number without end": ("eth_getBlockByNumber", {"number": "0x" + "f" * 17, "hash": "0x" + "00" * 32}),
    "a short hash": ("eth_getBlockByNumber", {"number": "0x1", "hash": "0x00"}),
    "no balance": ("eth_call", None),
    "an empty balance": ("eth_call", "0x"),
    "a balance that is a number": ("eth_call", 7),
}


@pytest.mark.parametrize("case", WRONG_ON_TRON)
def test_a_wrong_answer_of_a_tron_node_is_an_error_of_the_chain(
    case: str, tron_node: TronNode, tron_proxy: RpcProxy
) -> None:
    method, answer = WRONG_ON_TRON[case]
    tron_proxy.fault = results(lambda asked, told: answer if asked == method else told)
    cashier = tron_cashier(tron_proxy.url, tron_node.grid_url)
    with pytest.raises(ChainError):
        cashier.prepare(on_tron(tron_node), now=NOW, until=LATER)


def test_a_payment_on_tron_costs_one_batch(tron_node: TronNode, tron_proxy: RpcProxy) -> None:
    cashier = tron_cashier(tron_proxy.url, tron_node.grid_url)
    cashier.prepare(on_tron(tron_node), now=NOW, until=LATER)
    assert tron_proxy.requests == 1


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", ChainError),
        (b"[]", MalformedAnswerError),
        (b'{"result": true}', MalformedAnswerError),
        (b'{"code": 7}', MalformedAnswerError),
        (b'{"code": "success <b>"}', MalformedAnswerError),
        (b'{"Error": "class java.lang.NullPointerException"}', ChainUnavailableError),
        (b'{"code": "NO_CONNECTION"}', ChainUnavailableError),
        (b'{"code": "TAPOS_ERROR"}', TransactionRefusedError),
        (b'{"code": "SIGERROR"}', SignedOtherwiseError),
    ],
)
def test_what_became_of_a_transaction_is_believed_only_in_known_words(
    body: bytes, error: type[Exception], tron_node: TronNode
) -> None:
    with ExitStack() as stack:
        grid = stack.enter_context(HttpProxy(tron_node.grid_url))
        grid.fault = lambda target, answer: Answer(body)
        cashier = tron_cashier(tron_node.url, grid.url)
        with pytest.raises(error):
            cashier.send(bytes.fromhex(ON_CHAIN), bytes(65))


def test_a_node_that_cannot_pass_a_transaction_on_is_followed_by_the_next(tron_node: TronNode) -> None:
    with ExitStack() as stack:
        busy, good = (stack.enter_context(HttpProxy(tron_node.grid_url)) for _ in range(2))
        busy.fault = lambda target, answer: Answer(b'{"code": "SERVER_BUSY"}')
        good.fault = lambda target, answer: Answer(b'{"code": "SUCCESS"}')
        grid = RpcPool([Node(busy.url), Node(good.url)])
        cashier = TronCashier(RpcPool([tron_node.url]), grid)
        cashier.send(bytes.fromhex(ON_CHAIN), bytes(65))
        assert (busy.requests, good.requests) == (1, 1)
