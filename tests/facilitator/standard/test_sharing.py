"""Neither a merchant nor a payer uses up the gas that is there for all."""

from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from facilitator.models import Authorization
from facilitator.standard import sharing
from facilitator.standard.evm.signer import longest_pause
from facilitator.states import AuthorizationState
from settlements.models import GasTransaction
from settlements.states import Purpose, TransactionState
from tests.contract.client import ApiClient, client_of
from tests.facilitator.paying import pay_to_of
from tests.facilitator.standard.asking import settle, verify
from tests.facilitator.standard.bodies import body_of
from tests.factories import make_merchant, make_wallet
from tests.nodes.anvil import Anvil
from tests.nodes.authorizing import authorize
from wallets.chains.specs import Network
from wallets.networks import chain_spec
from wallets.selectors import forget

pytestmark = pytest.mark.django_db
UNITS = 1


def pay(node: Anvil, client: ApiClient, usdc: str) -> dict[str, Any]:
    return settle(client, body_of(authorize(node, pay_to_of(client), UNITS), usdc))


def test_a_merchants_dust_takes_no_more_than_its_share_of_the_days_gas(
    base_node: Anvil,
    seller: ApiClient,
    usdc: str,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sharing, "_KNOWN_SECONDS", 0.0)
    assert pay(base_node, seller, usdc)["success"]
    settings.GAS_MERCHANT_SHARE = "0"
    assert pay(base_node, seller, usdc)["errorReason"] == "unexpected_settle_error"
    assert GasTransaction.objects.count() == 1
    merchant = make_merchant("Elsewhere")
    make_wallet(merchant, "base", base_node.accounts[7].address)
    forget()
    assert pay(base_node, client_of(merchant, Mode.LIVE), usdc)["success"]
    settings.GAS_MERCHANT_SHARE = "1"
    assert pay(base_node, seller, usdc)["success"]


@pytest.mark.parametrize(
    ("whose", "is_refused"),
    [
        ({}, True),
        ({"state": TransactionState.DROPPED}, False),
        ({"purpose": Purpose.CANCEL}, False),
    ],
)
def test_a_payer_whose_authorisations_failed_on_our_gas_is_refused_for_a_day(
    base_node: Anvil,
    seller: ApiClient,
    usdc: str,
    whose: dict[str, Any],
    is_refused: bool,
) -> None:
    for _ in range(sharing.MOST_FAILURES):
        assert pay(base_node, seller, usdc)["success"]
    GasTransaction.objects.update(**whose)
    Authorization.objects.update(state=AuthorizationState.FAILED)
    body = body_of(authorize(base_node, pay_to_of(seller), UNITS), usdc)
    assert verify(seller, body)["isValid"] is not is_refused
    assert settle(seller, body)["success"] is not is_refused
    Authorization.objects.update(created_at=timezone.now() - sharing._DAY)
    assert pay(base_node, seller, usdc)["success"]


def test_who_waits_for_a_receipt_leaves_public_nodes_for_others() -> None:
    own = replace(chain_spec("base"), requests_per_minute=300)
    public = replace(own, network=Network.MAINNET)
    local = replace(own, network=Network.LOCAL)
    assert longest_pause(public) == pytest.approx(0.8)
    assert longest_pause(replace(public, requests_per_minute=100_000)) < 0.1
    assert longest_pause(local) < 0.1
