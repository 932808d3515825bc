"""Payers whose wallets are not deployed yet (ERC-6492): by trusted factories, in the transaction that pays."""

from dataclasses import replace
from typing import Any

import pytest

from localnet.anvil import Anvil
from localnet.authorizations import authorize, sign
from localnet.funding import payer
from localnet.permit2 import MULTICALL3, lay_multicall
from localnet.smart_wallet import by_wallet, future_wallet
from localnet.tokens import DEPLOYER, balance_of, mint
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.cases import wrapped
from tests.x402.payers import pay_to_of
from wallets.forwarders.addresses import checksum
from x402.exact.evm import eip3009
from x402.models import X402Payment

pytestmark = pytest.mark.django_db
UNITS = 10_000
FACTORY = checksum(DEPLOYER)
SIMULATION = "invalid_exact_evm_transaction_simulation_failed"


@pytest.fixture(autouse=True)
def _trusted(base_node: Anvil, settings: Any) -> None:
    """The operator trusts a factory. Nobody should trust this one, which deploys whatever it is told."""
    settings.X402_WALLET_FACTORIES = [f" {FACTORY.lower()}"]
    lay_multicall(base_node)


@pytest.fixture
def planned(base_node: Anvil, usdc: str) -> tuple[str, bytes]:
    """A wallet of the usual payer's that is not there yet, with USDC; and what deploys it."""
    address, calldata = future_wallet(payer(base_node))
    mint(base_node, usdc, address, UNITS)
    return address, calldata


def signed(node: Anvil, to: str, planned: tuple[str, bytes], *, owner: int = 1) -> Any:
    """What a wallet's owner signs for it, before it is there."""
    address, calldata = planned
    told = by_wallet(sign(node, replace(authorize(node, to, UNITS), payer=address), node.accounts[owner]))
    return wrapped(told, FACTORY, calldata)


def deploy(node: Anvil, planned: tuple[str, bytes]) -> None:
    """Deploy it, as anybody may."""
    tx_hash = node.send(node.accounts[5], to=FACTORY, data=planned[1], gas=3_000_000)
    assert node.receipt(tx_hash)["status"] == "0x1"
    assert node.code(planned[0])


@pytest.mark.parametrize("version", [1, 2])
def test_a_wallet_is_deployed_by_the_transaction_that_pays(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, planned: tuple[str, bytes], version: int
) -> None:
    to = pay_to_of(exact_seller)
    body = body_of(signed(base_node, to, planned), usdc, version=version)
    assert verify(exact_seller, body) == {"isValid": True, "payer": planned[0]}
    assert not base_node.code(planned[0])
    answer = settle(exact_seller, body)
    assert answer["success"] is True, answer
    assert base_node.code(planned[0])
    assert balance_of(base_node, usdc, to) == UNITS
    payment = X402Payment.objects.get()
    assert (payment.payer, payment.tx_hash) == (planned[0], answer["transaction"])
    again = settle(exact_seller, body)
    assert (again["success"], again["errorReason"]) == (False, "invalid_exact_evm_nonce_already_used")
    assert GasTransaction.objects.get().to == MULTICALL3


def test_a_wallet_that_another_one_deployed_meanwhile_pays_by_itself(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, planned: tuple[str, bytes]
) -> None:
    body = body_of(signed(base_node, pay_to_of(exact_seller), planned), usdc)
    assert verify(exact_seller, body)["isValid"]
    deploy(base_node, planned)
    assert verify(exact_seller, body)["isValid"]
    assert settle(exact_seller, body)["success"]
    assert GasTransaction.objects.get().to == usdc


def test_a_factory_that_is_not_trusted_is_not_called(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, planned: tuple[str, bytes], settings: Any
) -> None:
    settings.X402_WALLET_FACTORIES = [MULTICALL3]
    body = body_of(signed(base_node, pay_to_of(exact_seller), planned), usdc)
    assert verify(exact_seller, body)["invalidReason"] == "eip6492_factory_not_allowed"
    assert settle(exact_seller, body)["errorReason"] == "eip6492_factory_not_allowed"


def test_what_the_wallet_would_not_vouch_for_costs_no_gas_of_ours(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, planned: tuple[str, bytes]
) -> None:
    body = body_of(signed(base_node, pay_to_of(exact_seller), planned, owner=7), usdc)
    assert verify(exact_seller, body)["invalidReason"] == SIMULATION
    assert settle(exact_seller, body)["errorReason"] == SIMULATION
    assert not GasTransaction.objects.exists()


def test_calldata_that_deploys_another_wallet_pays_nothing(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, planned: tuple[str, bytes]
) -> None:
    _, other = future_wallet(payer(base_node))
    body = body_of(signed(base_node, pay_to_of(exact_seller), (planned[0], other)), usdc)
    assert verify(exact_seller, body)["invalidReason"] == SIMULATION
    assert settle(exact_seller, body)["errorReason"] == SIMULATION
    assert not GasTransaction.objects.exists()


def test_a_payer_without_the_money_is_not_told_that_the_signature_is_wrong(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    body = body_of(signed(base_node, pay_to_of(exact_seller), future_wallet(payer(base_node))), usdc)
    assert verify(exact_seller, body)["invalidReason"] == SIMULATION
    assert settle(exact_seller, body)["errorReason"] == SIMULATION
    assert not GasTransaction.objects.exists()


def test_what_a_key_paid_already_serves_nobody_who_wraps_it(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    """All of an authorisation can be read on the chain. Wrapped, nobody asks a key about its signature."""
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    base_node.receipt(base_node.send(base_node.accounts[5], to=usdc, data=told.call()))
    _, calldata = future_wallet(payer(base_node))
    seen = wrapped(replace(told, signature="0x" + "00" * 66), FACTORY, calldata)
    assert not verify(exact_seller, body_of(seen, usdc))["isValid"]
    assert not settle(exact_seller, body_of(seen, usdc))["success"]
    assert not X402Payment.objects.exists()
    honest = body_of(told, usdc)
    assert verify(exact_seller, honest)["isValid"]
    assert settle(exact_seller, honest)["success"]


def test_a_key_that_wraps_its_signature_pays_and_deploys_nothing(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    wallet, calldata = future_wallet(payer(base_node))
    told = wrapped(authorize(base_node, pay_to_of(exact_seller), UNITS), FACTORY, calldata)
    body = body_of(told, usdc)
    assert verify(exact_seller, body)["isValid"]
    assert settle(exact_seller, body)["success"]
    assert GasTransaction.objects.get().to == usdc
    assert not base_node.code(wallet)


def test_a_chain_without_multicall_deploys_no_wallets(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, planned: tuple[str, bytes]
) -> None:
    base_node.rpc("anvil_setCode", MULTICALL3, "0x")
    body = body_of(signed(base_node, pay_to_of(exact_seller), planned), usdc)
    assert verify(exact_seller, body)["invalidReason"] == SIMULATION
    assert not settle(exact_seller, body)["success"]
    assert not GasTransaction.objects.exists()


def test_without_doubt_about_a_wrapped_signature_a_stranger_would_be_served(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test of what a key paid already."""
    monkeypatch.setattr(eip3009, "is_proven", lambda *_: True)
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    base_node.receipt(base_node.send(base_node.accounts[5], to=usdc, data=told.call()))
    _, calldata = future_wallet(payer(base_node))
    seen = wrapped(replace(told, signature="0x" + "00" * 66), FACTORY, calldata)
    assert verify(exact_seller, body_of(seen, usdc))["isValid"]
    assert settle(exact_seller, body_of(seen, usdc))["success"]
