"""Deliberate failures stop those who belong to the payers that failed, and not the merchant's other payers."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.abi import encode_call
from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import authorize
from demo.localnet.funding import payer
from demo.localnet.tokens import mint
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.test_shares import UNITS, attack, give, pay
from tests.x402.payers import pay_to_of
from x402.exact import shares
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState

pytestmark = pytest.mark.django_db


def test_strangers_who_fail_do_not_stop_a_payer_who_paid_before(
    base_node: Anvil, seller: ApiClient, usdc: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = attack(base_node, seller, usdc, payers=5)
    GasTransaction.objects.update(cost_wei=cost)
    give(settings, monkeypatch, share=40 * cost)
    settings.GAS_DAILY_COINS = {"base": f"{Decimal(cost * 400) / 10**18:f}"}
    settings.GAS_MERCHANT_SHARE = "0.1"
    assert pay(base_node, seller, usdc)["errorReason"] == "unexpected_settle_error"
    long_ago = timezone.now() - shares.WINDOW - timedelta(seconds=1)
    bought = X402Payment.objects.latest("pk")
    bought.pk, bought.public_id, bought.payer = (None, "x402_known", payer(base_node).address)
    bought.position, bought.verified_at = 7, long_ago
    bought.save()
    assert pay(base_node, seller, usdc)["success"]
    # Failures of such payers are bounded too.
    settings.GAS_MERCHANT_SHARE = "0.009"
    Authorization.objects.filter(payer=bought.payer).update(state=AuthorizationState.FAILED)
    assert pay(base_node, seller, usdc)["errorReason"] == "unexpected_settle_error"


@pytest.mark.parametrize("is_related", [True, False])
def test_a_stranger_waits_only_if_whoever_funded_a_failed_payer_funded_it_too(
    base_node: Anvil, seller: ApiClient, usdc: str, settings: Any, is_related: bool
) -> None:
    cost = attack(base_node, seller, usdc, payers=5)
    GasTransaction.objects.update(cost_wei=cost)
    settings.GAS_DAILY_COINS = {"base": f"{Decimal(cost * 200) / 10**18:f}"}
    settings.GAS_MERCHANT_SHARE = "0.1"
    stranger, friend = base_node.accounts[8], base_node.accounts[9]
    if is_related:
        mint(base_node, usdc, stranger.address, UNITS)
    else:
        mint(base_node, usdc, friend.address, UNITS)
        transfer = encode_call("transfer(address,uint256)", stranger.address, UNITS)
        base_node.receipt(base_node.send(friend, to=usdc, data=transfer))
    told = authorize(base_node, pay_to_of(seller), UNITS, account=stranger)
    body = body_of(told, usdc)
    assert verify(seller, body)["isValid"] is not is_related
    assert settle(seller, body)["success"] is not is_related
