"""Payers whose wallets are contracts, which judge signatures themselves (ERC-1271), and do so on our gas."""

from dataclasses import replace
from typing import Any

import pytest

from localnet.abi import encode_call
from localnet.anvil import Anvil
from localnet.authorizations import authorize, sign
from localnet.funding import payer
from localnet.permit2 import PERMIT2, UPTO_PROXY, lay_multicall, lay_permit2, permit
from localnet.smart_wallet import by_wallet, deploy_wallet
from localnet.tokens import balance_of, execute, mint
from settlements.gas.node import gas_node
from settlements.gas.relay import most_cost
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.nodes.overtaking import overtake
from tests.nodes.proxy import Ask, RpcProxy, one_by_one
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.cases import wrapped
from tests.x402.exact.permits import permit_body, upto_body
from tests.x402.payers import pay_to_of
from wallets.chains.evm.authorizations import contracts
from x402.exact import waiting
from x402.models import Authorization, X402Payment
from x402.tasks import finish_authorizations_task

pytestmark = pytest.mark.django_db
UNITS = 10_000
HOG_ROUNDS = 5_000
DEAR_ROUNDS = 1_500
BY_WALLET = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"


@pytest.fixture
def wallet(base_node: Anvil, usdc: str) -> str:
    """A wallet of the usual payer's, with USDC in it."""
    address = deploy_wallet(base_node, payer(base_node))
    mint(base_node, usdc, address, UNITS)
    return address


def signed(node: Anvil, to: str, wallet: str, *, owner: int = 1) -> Any:
    """What a wallet's owner signs for it."""
    told = authorize(node, to, UNITS)
    return by_wallet(sign(node, replace(told, payer=wallet), node.accounts[owner]))


@pytest.mark.parametrize("version", [1, 2])
def test_a_wallet_that_is_a_contract_pays(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, wallet: str, version: int
) -> None:
    to = pay_to_of(exact_seller)
    body = body_of(signed(base_node, to, wallet), usdc, version=version)
    assert verify(exact_seller, body) == {"isValid": True, "payer": wallet}
    answer = settle(exact_seller, body)
    assert answer["success"] is True, answer
    assert balance_of(base_node, usdc, to) == UNITS
    assert X402Payment.objects.get().payer == wallet


def test_what_the_wallet_does_not_vouch_for_is_refused_and_costs_nothing(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, wallet: str
) -> None:
    body = body_of(signed(base_node, pay_to_of(exact_seller), wallet, owner=7), usdc)
    reason = "invalid_exact_evm_payload_signature"
    assert verify(exact_seller, body)["invalidReason"] == reason
    assert settle(exact_seller, body)["errorReason"] == reason
    assert not GasTransaction.objects.exists()


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_wallet_paid_already_serves_nobody_who_only_saw_it(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, wallet: str, version: int
) -> None:
    """All of an authorisation but its signature can be read on the chain, and the token looks at its number first."""
    told = signed(base_node, pay_to_of(exact_seller), wallet)
    raw = bytes.fromhex(told.signature[2:])
    terms = (told.payer, told.to, told.units, told.valid_after, told.valid_before)
    stranger, nonce = base_node.accounts[5], bytes.fromhex(told.nonce[2:])
    execute(base_node, stranger, usdc, BY_WALLET, *terms, nonce, raw)
    seen = replace(told, signature="0x" + "00" * 66)
    body = body_of(seen, usdc, version=version)
    assert not verify(exact_seller, body)["isValid"]
    reason = "invalid_exact_evm_payload_signature"
    assert settle(exact_seller, body)["errorReason"] == reason
    assert not X402Payment.objects.exists()
    body = body_of(told, usdc, version=version)
    assert verify(exact_seller, body)["isValid"]
    assert settle(exact_seller, body)["success"]


def allow_permit2(node: Anvil, usdc: str, wallet: str) -> None:
    """Let a wallet allow Permit2 all that it has."""
    lay_permit2(node)
    allowing = encode_call("approve(address,uint256)", PERMIT2, UNITS)
    execute(node, payer(node), wallet, "call(address,bytes)", usdc, allowing)


def permitted(node: Anvil, usdc: str, to: str, wallet: str) -> Any:
    """The body of a payment by Permit2, which a wallet's owner signed for it."""
    allow_permit2(node, usdc, wallet)
    return permit_body(by_wallet(permit(node, usdc, to, UNITS, payer=wallet)), node.chain_id)


def test_a_wallet_pays_by_permit2(base_node: Anvil, exact_seller: ApiClient, usdc: str, wallet: str) -> None:
    to = pay_to_of(exact_seller)
    body = permitted(base_node, usdc, to, wallet)
    assert verify(exact_seller, body) == {"isValid": True, "payer": wallet}
    answer = settle(exact_seller, body)
    assert answer["success"] is True, answer
    assert balance_of(base_node, usdc, to) == UNITS


def test_a_wallet_signs_a_maximum_of_which_a_part_is_charged(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, wallet: str
) -> None:
    to, part = pay_to_of(exact_seller), UNITS // 4
    allow_permit2(base_node, usdc, wallet)
    named: dict[str, Any] = {"payer": wallet, "facilitator": base_node.accounts[3].address, "spender": UPTO_PROXY}
    told = by_wallet(permit(base_node, usdc, to, UNITS, **named))
    assert verify(exact_seller, upto_body(told, base_node.chain_id)) == {"isValid": True, "payer": wallet}
    answer = settle(exact_seller, upto_body(told, base_node.chain_id, part))
    assert (answer["success"], answer["amount"]) == (True, str(part)), answer
    assert [balance_of(base_node, usdc, one) for one in (to, wallet)] == [part, UNITS - part]
    another = by_wallet(permit(base_node, usdc, to, UNITS, account=base_node.accounts[7], **named))
    refused = settle(exact_seller, upto_body(another, base_node.chain_id, part))
    assert (refused["success"], refused["errorReason"]) == (False, "invalid_permit2_signature")


@pytest.mark.parametrize(
    ("factory", "reason"),
    [("", "invalid_exact_evm_payload_undeployed_smart_wallet"), (PERMIT2, "eip6492_factory_not_allowed")],
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_wallet_that_does_not_exist_yet_is_refused_with_the_reason(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, version: int, factory: str, reason: str
) -> None:
    told = signed(base_node, pay_to_of(exact_seller), base_node.accounts[8].address)
    if factory:
        told = wrapped(told, factory, b"make")
    body = body_of(told, usdc, version=version)
    assert verify(exact_seller, body)["invalidReason"] == reason
    assert settle(exact_seller, body)["errorReason"] == reason
    assert not Authorization.objects.exists()


@pytest.fixture(params=["eip3009", "permit2"])
def paid(request: pytest.FixtureRequest, base_node: Anvil, exact_seller: ApiClient, usdc: str, wallet: str) -> Any:
    """The body of a wallet's payment, in each way."""
    to = pay_to_of(exact_seller)
    if request.param == "permit2":
        return permitted(base_node, usdc, to, wallet)
    return body_of(signed(base_node, to, wallet), usdc)


def test_a_wallet_that_thinks_for_too_long_gets_no_gas(
    base_node: Anvil, exact_seller: ApiClient, wallet: str, paid: Any
) -> None:
    execute(base_node, payer(base_node), wallet, "burn(uint256)", HOG_ROUNDS)
    body = paid
    assert verify(exact_seller, body)["invalidReason"] == "unexpected_verify_error"
    answer = settle(exact_seller, body)
    assert answer["errorReason"] == "transaction_failed", answer
    assert not GasTransaction.objects.exists()


def test_what_a_wallets_check_costs_is_compared_with_the_gas_accounts_coin_at_verify(
    base_node: Anvil, exact_seller: ApiClient, wallet: str, paid: Any
) -> None:
    """Enough for a usual payment is not enough for a dear one."""
    execute(base_node, payer(base_node), wallet, "burn(uint256)", DEAR_ROUNDS)
    with gas_node("base") as node:
        usual = most_cost("base", contracts.USUAL_GAS, node=node)
    base_node.rpc("anvil_setBalance", base_node.accounts[3].address, hex(usual * 3 // 2))
    assert verify(exact_seller, paid)["invalidReason"] == "unexpected_verify_error"
    assert settle(exact_seller, paid)["errorReason"] == "unexpected_settle_error"
    assert not GasTransaction.objects.exists()


def test_what_a_keys_transfer_takes_on_this_chain_is_compared_with_the_gas_accounts_coin_at_verify(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any
) -> None:
    """As on chains that count Ethereum's data as gas: a usual payment's gas is not enough there."""
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    with gas_node("base") as node:
        usual = most_cost("base", contracts.USUAL_GAS, node=node)
    base_node.rpc("anvil_setBalance", base_node.accounts[3].address, hex(usual * 3 // 2))
    assert verify(exact_seller, body)["isValid"]

    def dear(request: Any, ask: Ask) -> Any:
        if request["method"] != "eth_estimateGas":
            return ask(request)
        return {"jsonrpc": "2.0", "id": request["id"], "result": hex(2 * contracts.USUAL_GAS)}

    with RpcProxy(base_node.url) as nitro:
        nitro.fault = one_by_one(dear)
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": nitro.url}
        assert verify(exact_seller, body)["invalidReason"] == "unexpected_verify_error"
        assert settle(exact_seller, body)["errorReason"] == "unexpected_settle_error"
    assert not GasTransaction.objects.exists()


@pytest.mark.parametrize("turn", ["turn_at(uint256)", "burn(uint256)"])
def test_a_wallet_that_changes_its_mind_costs_no_more_than_was_estimated(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, wallet: str, monkeypatch: pytest.MonkeyPatch, turn: str
) -> None:
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
    body = body_of(signed(base_node, pay_to_of(exact_seller), wallet), usdc)
    base_node.set_automine(False)
    assert settle(exact_seller, body)["errorReason"] == "settlement_pending"
    overtake(base_node, wallet, encode_call(turn, HOG_ROUNDS if "burn" in turn else 0))
    base_node.mine()
    finish_authorizations_task()
    assert settle(exact_seller, body)["errorReason"] == "transaction_failed"
    receipt = base_node.receipt(Authorization.objects.get().tx_hash)
    assert receipt["status"] == "0x0"
    limit = GasTransaction.objects.get().gas_limit
    assert int(receipt["gasUsed"], 16) <= limit < contracts.MOST_GAS
    assert not X402Payment.objects.exists()


@pytest.mark.parametrize("has_multicall", [True, False])
@pytest.mark.parametrize("version", [1, 2])
def test_a_transfer_that_fails_for_no_known_reason_is_refused_all_the_same(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, version: int, has_multicall: bool
) -> None:
    if has_multicall:
        lay_multicall(base_node)
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    # A token that knows nothing of authorisations.
    base_node.rpc("anvil_setCode", usdc, "0x60006000fd")
    body = body_of(told, usdc, version=version)
    expected = (
        "invalid_exact_evm_eip3009_not_supported"
        if has_multicall
        else "invalid_exact_evm_transaction_simulation_failed"
    )
    assert verify(exact_seller, body)["invalidReason"] == expected
    assert not settle(exact_seller, body)["success"]
    assert not GasTransaction.objects.exists()


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
        assert verify(exact_seller, body)["invalidReason"] == "unexpected_verify_error"
        told = settle(exact_seller, body)["errorReason"]
        assert told in ("unexpected_settle_error", "transaction_failed")
    settings.CHAIN_SETTINGS = there
    assert not GasTransaction.objects.exists()
    assert verify(exact_seller, body)["isValid"]
    assert settle(exact_seller, body)["success"]
    assert Authorization.objects.get().payment is not None
