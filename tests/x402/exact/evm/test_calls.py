"""Whatever a node answers, a payment is judged by what the protocol allows, or not at all."""

from typing import Any

import pytest

from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import authorize
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.nodes.proxy import Ask, RpcProxy, one_by_one
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.payers import pay_to_of
from x402.exact.evm import contracts
from x402.models import Authorization

pytestmark = pytest.mark.django_db
UNITS = 10_000
REVERT = {"error": {"code": 3, "message": "execution reverted: who knows"}}
FAULTY = {"error": {"code": -32603, "message": "out of memory"}}
ODD: tuple[dict[str, Any], ...] = (
    FAULTY,
    {"result": None},
    {"result": {}},
    {"result": 7},
    {"result": "0xzz"},
    {"result": "0x" + "ff" * 33},
    {"result": "0x1"},
)
ANSWERS = [
    *(("eth_getCode", answer) for answer in (REVERT, *ODD[:5])),
    *(("eth_estimateGas", answer) for answer in ODD),
    *(("eth_call", answer) for answer in ODD[:5]),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("method", "answer"), ANSWERS)
def test_a_nodes_odd_answer_refuses_nobody_for_good_and_sends_nothing(
    base_node: Anvil,
    exact_seller: ApiClient,
    usdc: str,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    answer: dict[str, Any],
    version: int,
) -> None:
    monkeypatch.setattr(contracts, "_deployed", set())
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc, version=version)

    def lie(request: Any, ask: Ask) -> Any:
        if request["method"] != method:
            return ask(request)
        return {"jsonrpc": "2.0", "id": request["id"], **answer}

    there = settings.CHAIN_SETTINGS
    with RpcProxy(base_node.url) as liar:
        liar.fault = one_by_one(lie)
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": liar.url}
        if method != "eth_estimateGas":
            # Nothing is estimated for a verification.
            assert verify(exact_seller, body)["invalidReason"] == "unexpected_verify_error"
        if method != "eth_call":
            # Nothing is rehearsed for a settlement.
            told = settle(exact_seller, body)["errorReason"]
            assert told in ("unexpected_settle_error", "transaction_failed")
    settings.CHAIN_SETTINGS = there
    assert not GasTransaction.objects.exists()
    assert verify(exact_seller, body)["isValid"]
    assert settle(exact_seller, body)["success"]
    assert Authorization.objects.get().payment is not None
