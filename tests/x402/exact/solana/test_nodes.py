"""What one node says of a payer's transaction is not the last word where another one may know more."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.client import ApiClient
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, changed, honest, methods_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.solana.payers import Shop, ticking

pytestmark = pytest.mark.django_db


def behind(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Answer as a node that has not seen the newest blocks yet."""

    def change(method: str, result: Any) -> Any:
        if method == "simulateTransaction":
            result["value"]["err"] = "BlockhashNotFound"
        return result

    return changed(request, ask(request), change)


def says_nothing(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Leave out whether a transaction fails."""

    def change(method: str, result: Any) -> Any:
        if method == "simulateTransaction":
            result["value"].pop("err")
        return result

    return changed(request, ask(request), change)


@pytest.fixture
def first(solana_stall: Shop, settings: Any) -> Iterator[RpcProxy]:
    """The node that is asked first; behind it there is another one."""
    with RpcProxy(solana_stall.node.url) as proxy:
        urls = f"{proxy.url},{solana_stall.node.url}"
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": urls}
        yield proxy


def test_a_node_that_fell_behind_refuses_no_payer(
    solana_stall: Shop, solana_seller: ApiClient, first: RpcProxy
) -> None:
    first.fault = behind
    body = solana_stall.body(solana_stall.draft().signed())
    assert verify(solana_seller, body)["isValid"]
    with ticking(solana_stall.node):
        assert settle(solana_seller, body)["success"]


def test_what_every_node_calls_too_old_is_refused(
    solana_stall: Shop, solana_seller: ApiClient, first: RpcProxy
) -> None:
    body = solana_stall.body(solana_stall.draft().signed())
    solana_stall.node.advance(152)
    told = verify(solana_seller, body)
    assert told["invalidReason"] == "transaction_simulation_failed"
    assert told["invalidMessage"] == "BlockhashNotFound"
    assert settle(solana_seller, body)["errorReason"] == "transaction_simulation_failed"


def test_a_node_that_does_not_say_whether_a_payment_fails_promises_nothing(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any
) -> None:
    with RpcProxy(solana_stall.node.url) as only:
        only.fault = says_nothing
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": only.url}
        body = solana_stall.body(solana_stall.draft().signed())
        assert verify(solana_seller, body)["invalidReason"] == "unexpected_verify_error"
        assert settle(solana_seller, body)["errorReason"] == "unexpected_settle_error"


NO_CREDIT = "Attempt to debit an account but found no record of a prior credit."


@pytest.mark.parametrize(
    ("error", "is_ours"),
    [
        ("InsufficientFundsForFee", True),
        ("AccountNotFound", True),
        ("InvalidAccountForFee", True),
        ("InvalidRentPayingAccount", True),
        ({"InsufficientFundsForRent": {"account_index": 0}}, True),
        ({"code": -32002, "message": NO_CREDIT}, True),
        ({"InsufficientFundsForRent": {"account_index": 3}}, False),
        # The token program's "insufficient funds", of the payer.
        ({"InstructionError": [2, {"Custom": 1}]}, False),
        ({"InstructionError": [2, "InsufficientFunds"]}, False),
    ],
    ids=str,
)
def test_only_a_failure_of_the_payers_own_refuses_the_payment(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any, error: Any, is_ours: bool
) -> None:
    with RpcProxy(solana_stall.node.url) as only:
        only.fault = simulating(error)
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": only.url}
        body = solana_stall.body(solana_stall.draft().signed())
        verified, settled = verify(solana_seller, body), settle(solana_seller, body)
    reasons = verified["invalidReason"], settled["errorReason"]
    failed = "transaction_simulation_failed"
    assert reasons == (("unexpected_verify_error", "unexpected_settle_error") if is_ours else (failed, failed))
    assert settled["transaction"] == ""
    with ticking(solana_stall.node):
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_stall.node.url}
        assert settle(solana_seller, body)["success"]


def simulating(error: Any) -> Any:
    """Answer a simulation with this error, or refuse it."""

    def fault(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        if "simulateTransaction" not in methods_of(request):
            return honest(proxy, request, ask)
        is_refused = isinstance(error, dict) and "code" in error
        value = {"err": error, "logs": [], "accounts": None, "unitsConsumed": 0, "returnData": None}
        told = {"error": error} if is_refused else {"result": {"context": {"slot": 1}, "value": value}}
        return honest(proxy, request, lambda asked: {"jsonrpc": "2.0", "id": asked["id"], **told})

    return fault
