"""Signed authorisations carried out on a real node."""

from typing import Any

import pytest

from accounts.models import FeeEntry
from localnet.anvil import Anvil
from localnet.authorizations import authorize, sign
from localnet.funding import payer
from localnet.tokens import balance_of, mint, transfer
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.x402.calls import verdict
from tests.x402.exact.bodies import RESOURCE, body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.payers import claim_of, pay_to_of
from wallets.models import WitnessRequest
from x402.exact import waiting
from x402.models import Authorization, X402Payment
from x402.tasks import finish_authorizations_task

pytestmark = pytest.mark.django_db
UNITS = 10_000
USED = "invalid_exact_evm_nonce_already_used"


def hand_in(node: Anvil, told: Any, usdc: str) -> str:
    """Carry an authorisation out as a stranger may; return the transaction's hash."""
    tx_hash = node.send(node.accounts[5], to=usdc, data=told.call())
    assert node.receipt(tx_hash)["status"] == "0x1"
    return tx_hash


@pytest.mark.parametrize("version", [1, 2])
def test_what_verifies_settles_and_the_money_is_in_the_forwarder(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, version: int
) -> None:
    to = pay_to_of(exact_seller)
    told = authorize(base_node, to, UNITS)
    body = body_of(told, usdc, version=version)
    assert verify(exact_seller, body) == {"isValid": True, "payer": told.payer}
    answer = settle(exact_seller, body)
    assert answer["success"] is True, answer
    assert answer["network"] == body["paymentRequirements"]["network"]
    assert balance_of(base_node, usdc, to) == UNITS
    payment = X402Payment.objects.get()
    assert (payment.tx_hash, payment.protocol) == (answer["transaction"], "exact")
    assert answer["extra"] == {"paymentId": payment.public_id}
    assert FeeEntry.objects.get().subject_id == payment.public_id
    assert verify(exact_seller, body)["invalidReason"] == USED
    again = settle(exact_seller, body)
    assert (again["success"], again["errorReason"]) == (False, USED)
    assert again["transaction"] == answer["transaction"]
    assert GasTransaction.objects.count() == Authorization.objects.count() == 1


def test_a_large_signed_payment_waits_for_nobody(base_node: Anvil, exact_seller: ApiClient, usdc: str) -> None:
    units = 12_000 * 10**6
    told = authorize(base_node, pay_to_of(exact_seller), units)
    mint(base_node, usdc, told.payer, units)
    assert settle(exact_seller, body_of(told, usdc))["success"]
    assert not WitnessRequest.objects.exists()


def test_a_settled_authorisation_buys_nothing_else(base_node: Anvil, exact_seller: ApiClient, usdc: str) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    assert settle(exact_seller, body_of(told, usdc))["success"]
    other = body_of(told, usdc, resource=f"{RESOURCE}/other")
    assert settle(exact_seller, other)["errorReason"] == USED
    claim = claim_of(base_node, X402Payment.objects.get().tx_hash, told.to, amount="0.01", price="0.01")
    base_node.mine(3)
    assert verdict(exact_seller, claim) == "already_used"


def test_a_transfer_that_was_a_proof_by_hash_settles_nothing(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    tx_hash = hand_in(base_node, told, usdc)
    base_node.mine(3)
    claim = claim_of(base_node, tx_hash, told.to, amount="0.01", price="0.01")
    assert verdict(exact_seller, claim) == "valid"
    assert settle(exact_seller, body_of(told, usdc))["errorReason"] == USED
    assert X402Payment.objects.count() == 1


@pytest.mark.parametrize("version", [1, 2])
def test_an_authorisation_that_a_stranger_handed_in_is_paid_all_the_same(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, version: int
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    tx_hash = hand_in(base_node, told, usdc)
    body = body_of(told, usdc, version=version)
    assert verify(exact_seller, body)["isValid"]
    answer = settle(exact_seller, body)
    assert (answer["success"], answer["transaction"]) == (True, tx_hash)
    assert not GasTransaction.objects.exists()
    assert X402Payment.objects.get().tx_hash == tx_hash


def test_a_signature_of_somebody_else_is_refused_and_writes_nothing_down(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    forged = sign(base_node, told, base_node.accounts[7])
    body = body_of(forged, usdc)
    reason = "invalid_exact_evm_payload_signature"
    assert verify(exact_seller, body)["invalidReason"] == reason
    assert settle(exact_seller, body)["errorReason"] == reason
    assert not Authorization.objects.exists()
    assert settle(exact_seller, body_of(told, usdc))["success"]


def test_a_payer_without_money_costs_no_gas_and_may_fill_up(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    poor = base_node.accounts[6]
    told = authorize(base_node, pay_to_of(exact_seller), UNITS, account=poor)
    body = body_of(told, usdc)
    reason = "invalid_exact_evm_insufficient_balance"
    assert verify(exact_seller, body)["invalidReason"] == reason
    assert settle(exact_seller, body)["errorReason"] == reason
    assert not GasTransaction.objects.exists()
    mint(base_node, usdc, poor.address, UNITS)
    assert settle(exact_seller, body)["success"]


@pytest.mark.parametrize("asks_again", [True, False])
def test_a_transaction_that_waits_for_its_block_is_pending_and_is_ended_later(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch, asks_again: bool
) -> None:
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    base_node.set_automine(False)
    first = settle(exact_seller, body)
    assert first["errorReason"] == "settlement_pending"
    finish_authorizations_task()
    assert not X402Payment.objects.exists()
    base_node.set_automine(True)
    base_node.mine()
    if asks_again:
        second = settle(exact_seller, body)
        assert second["success"], second
        assert second["transaction"] == first["transaction"]
    else:
        finish_authorizations_task()
    assert X402Payment.objects.get().tx_hash == first["transaction"]
    assert GasTransaction.objects.count() == 1


def test_nodes_that_are_away_refuse_no_payment(exact_seller: ApiClient, signed_body: Any, settings: Any) -> None:
    there = settings.CHAIN_SETTINGS
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    assert verify(exact_seller, signed_body)["invalidReason"] == "unexpected_verify_error"
    assert settle(exact_seller, signed_body)["errorReason"] == "unexpected_settle_error"
    settings.CHAIN_SETTINGS = there
    assert settle(exact_seller, signed_body)["success"]


def test_the_money_of_an_honest_payer_may_come_by_both_protocols(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    to = pay_to_of(exact_seller)
    assert settle(exact_seller, body_of(authorize(base_node, to, UNITS), usdc))["success"]
    tx_hash = transfer(base_node, payer(base_node), usdc, to, UNITS)
    base_node.mine(3)
    claim = claim_of(base_node, tx_hash, to, amount="0.01", price="0.01")
    assert verdict(exact_seller, claim) == "valid"
    assert X402Payment.objects.count() == 2
