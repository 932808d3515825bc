"""Payments in tokens without authorisations of their own, by Permit2 on real nodes."""

import time
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import FeeEntry
from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.permit2 import PERMIT2, PROXY, Permit, allow, permit, sign_permit
from localnet.published import USDT
from localnet.smart_wallet import deploy_wallet
from localnet.tokens import balance_of, execute, mint
from settlements.models import GasTransaction
from tests.contract.client import client_of
from tests.nodes.proxy import Ask, RpcProxy, one_by_one
from tests.wallets.factories import make_watcher, read_all
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.permits import Stall, first_of, open_stall, permit_body
from tests.x402.payers import pay_to_of
from wallets.chains.base import ChainUnavailableError
from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import RevertedError
from wallets.models import Transfer, TransferClaim
from wallets.networks import chain_spec
from x402.exact.evm import evidence, permit2
from x402.exact.evm.broadcast import pool_of
from x402.exact.evm.evidence import find_used
from x402.exact.forms import parse_standard
from x402.models import Authorization, X402Payment
from x402.payments.transfers import follow_transfers

pytestmark = pytest.mark.django_db
UNITS = 10_000
USED_UP = "permit2_invalid_nonce"


@pytest.mark.parametrize("chain", ["ethereum", "polygon"])
def test_usdt_is_paid_by_permit2_and_is_in_the_books(request: pytest.FixtureRequest, settings: Any, chain: str) -> None:
    node: Anvil = request.getfixturevalue(f"{chain}_node")
    stall = open_stall(settings, node, chain)
    told = permit(node, stall.usdt, stall.pay_to, UNITS)
    body = permit_body(told, node.chain_id)
    assert verify(stall.client, body) == {"isValid": True, "payer": told.payer}
    answer = settle(stall.client, body)
    assert answer["success"] is True, answer
    assert balance_of(node, stall.usdt, stall.pay_to) == UNITS
    payment = X402Payment.objects.get()
    assert (payment.tx_hash, payment.token) == (answer["transaction"], "USDT")
    assert FeeEntry.objects.get().subject_id == payment.public_id
    again = settle(stall.client, body)
    assert (again["success"], again["errorReason"]) == (False, "permit2_invalid_nonce")
    assert again["transaction"] == answer["transaction"]
    assert verify(stall.client, body)["invalidReason"] == "permit2_invalid_nonce"
    assert GasTransaction.objects.count() == Authorization.objects.count() == 1


@pytest.mark.usefixtures("no_bells")
def test_the_watcher_claims_a_permits_transfer(stall: Stall) -> None:
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    assert settle(stall.client, permit_body(told, 1))["success"]
    stall.node.mine(2)
    url, usdt = stall.node.url, stall.usdt
    read_all(make_watcher(url, chain="ethereum", TOKEN_USDT=usdt, CONFIRMATIONS="1"))
    follow_transfers(now=timezone.now())
    found = Transfer.objects.get(purpose="x402")
    assert X402Payment.objects.get().transfer_id == found.pk
    assert TransferClaim.objects.get().transfer_id == found.pk


def test_two_permits_in_one_transaction_are_two_payments(stall: Stall) -> None:
    node, stranger = stall.node, stall.node.accounts[5]
    told = [permit(node, stall.usdt, stall.pay_to, UNITS) for _ in range(2)]
    helper, calls = deploy_wallet(node, stranger), [one.call() for one in told]
    execute(node, stranger, helper, "call_all(address,bytes[])", PROXY, calls)
    for one in told:
        assert settle(stall.client, permit_body(one, 1))["success"]
    places = X402Payment.objects.values_list("position", flat=True)
    assert sorted(places) == [0, 1]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"spender": PERMIT2}, "invalid_permit2_spender"),
        ({"deadline": 1}, "invalid_exact_evm_payload_authorization_valid_before"),
        ({"valid_after": 2**40}, "permit2_not_yet_valid"),
        ({"to": PERMIT2}, "invalid_exact_evm_payload_recipient_mismatch"),
        ({"token": PERMIT2}, "permit2_token_mismatch"),
        ({"units": UNITS + 1}, "invalid_exact_evm_payload_authorization_value_mismatch"),
        ({}, "invalid_permit2_signature"),
    ],
)
def test_a_permit_for_anything_else_is_refused(stall: Stall, changes: dict[str, Any], reason: str) -> None:
    is_forged = not changes
    honest = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    told = sign_permit(stall.node, replace(honest, **changes), payer(stall.node))
    if is_forged:
        told = sign_permit(stall.node, told, stall.node.accounts[7])
    wanted = {"payTo": stall.pay_to, "amount": str(UNITS), "asset": stall.usdt}
    body = permit_body(told, 1, **wanted)
    assert verify(stall.client, body)["invalidReason"] == reason
    assert settle(stall.client, body)["errorReason"] == reason
    assert not Authorization.objects.exists()


def test_test_keys_take_no_permits_for_other_spenders_or_tokens() -> None:
    tester = client_of(mode=Mode.TEST)
    usdt, to = USDT[1], pay_to_of(tester, "ethereum")
    deadline = int(time.time()) + 300
    honest = Permit(PERMIT2, usdt, to, UNITS, 7, deadline, signature="0x" + "11" * 65)
    asked = {"payTo": to, "amount": str(UNITS), "asset": usdt}
    assert settle(tester, permit_body(honest, 1, **asked))["success"]
    for wrong in (replace(honest, spender=to), replace(honest, token=to)):
        body = permit_body(wrong, 1, **asked)
        assert "permit2" in verify(tester, body)["invalidReason"]
        assert not settle(tester, body)["success"]


def test_a_payer_who_did_not_allow_permit2_is_told_so(stall: Stall) -> None:
    poor = stall.node.accounts[6]
    mint(stall.node, stall.usdt, poor.address, UNITS)
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS, account=poor)
    body = permit_body(told, 1)
    assert verify(stall.client, body)["invalidReason"] == "permit2_allowance_required"
    assert settle(stall.client, body)["errorReason"] == "permit2_allowance_required"
    allow(stall.node, stall.usdt, account=poor)
    assert settle(stall.client, body)["success"]


def test_a_chain_without_the_proxy_takes_no_gas_of_ours(stall: Stall) -> None:
    stall.node.rpc("anvil_setCode", PROXY, "0x")
    body = permit_body(permit(stall.node, stall.usdt, stall.pay_to, UNITS), 1)
    simulated = "invalid_exact_evm_transaction_simulation_failed"
    assert verify(stall.client, body)["invalidReason"] == simulated
    assert settle(stall.client, body)["errorReason"] == "transaction_failed"
    assert not GasTransaction.objects.exists()


def test_the_standards_first_version_has_no_permits(stall: Stall) -> None:
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    body = first_of(permit_body(told, 1), "ethereum")
    assert verify(stall.client, body)["invalidReason"] == "invalid_payload"
    assert settle(stall.client, body)["errorReason"] == "invalid_payload"


def test_nothing_is_called_but_our_tokens_and_the_proxy(stall: Stall) -> None:
    spec = chain_spec("ethereum")
    with pytest.raises(RevertedError):
        permit2.expect_ours(pool_of(spec), spec, contracts.Call(PERMIT2, b"settle"))


def test_a_node_without_old_states_is_no_witness_for_a_contracts_call(stall: Stall, settings: Any) -> None:
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    by_contract(stall.node, told)
    body = permit_body(told, 1)
    with RpcProxy(stall.node.url) as pruned:
        pruned.fault = one_by_one(_forgets_old_states)
        there = settings.CHAIN_SETTINGS
        settings.CHAIN_SETTINGS = {"ETHEREUM_RPC_URLS": pruned.url}
        answer = settle(stall.client, body)
        settings.CHAIN_SETTINGS = there
    assert answer["errorReason"] == USED_UP
    assert "transaction's hash" in answer["errorMessage"]
    assert settle(stall.client, body)["success"]


def _forgets_old_states(request: Any, ask: Ask) -> Any:
    newest = ask(request | {"method": "eth_blockNumber", "params": []})["result"]
    if request["method"] == "eth_call" and request["params"][1] not in ("latest", newest):
        error = {"code": -32000, "message": "missing trie node"}
        return {"jsonrpc": "2.0", "id": request["id"], "error": error}
    return ask(request)


def test_what_took_all_that_was_allowed_paid(stall: Stall) -> None:
    account = stall.node.accounts[6]
    mint(stall.node, stall.usdt, account.address, UNITS)
    allow(stall.node, stall.usdt, account=account)
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS, account=account)
    by_proxy(stall.node, told)
    body = permit_body(told, 1)
    assert verify(stall.client, body)["isValid"]
    assert settle(stall.client, body)["success"]


@pytest.mark.parametrize("nonce", [2**256, 10**78 - 1])
def test_a_number_that_no_contract_knows_is_none(stall: Stall, nonce: int) -> None:
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    body = permit_body(replace(told, nonce=nonce), 1)
    assert verify(stall.client, body)["invalidReason"] == "invalid_payload"
    assert settle(stall.client, body)["errorReason"] == "invalid_payload"


def by_proxy(node: Anvil, told: Permit) -> str:
    """Carry a permit out as a stranger may; return the transaction's hash."""
    return node.send(node.accounts[5], to=PROXY, data=told.call())


def by_contract(node: Anvil, told: Permit, *, helper: str = "") -> str:
    """Carry a permit out through a contract of a stranger's; return the transaction's hash."""
    stranger = node.accounts[5]
    helper = helper or deploy_wallet(node, stranger)
    return execute(node, stranger, helper, "call(address,bytes)", PROXY, told.call())


def test_a_node_that_is_behind_is_not_asked_who_was_first(stall: Stall) -> None:
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    request = parse_standard(permit_body(told, 1), Mode.LIVE)
    newest = stall.node.block_number()
    assert not find_used(pool_of(request.spec), request, at_least=newest).is_used
    with pytest.raises(ChainUnavailableError):
        find_used(pool_of(request.spec), request, at_least=newest + 1)


def test_calldata_that_is_none_is_no_call_of_the_proxy(stall: Stall) -> None:
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    request = parse_standard(permit_body(told, 1), Mode.LIVE)
    data = permit2.call_of(pool_of(request.spec), request).data
    assert data == told.call()
    assert evidence._is_call_of(request, data)
    # Token, amount, number, payer and recipient; then where the signature is, and how long.
    for word in (0, 1, 2, 4, 5, 7, 8):
        place = 4 + 32 * word
        broken = data[:place] + b"\xff" * 32 + data[place + 32 :]
        assert not evidence._is_call_of(request, broken)
    assert not evidence._is_call_of(request, data[:4])
    assert not evidence._is_call_of(request, b"\0\0\0\0" + data[4:])
