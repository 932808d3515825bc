"""What is asked of a payment before anything is sent: whose it is, and whether there is time."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from settlements.models import GasTransaction
from tests.contract.client import ApiClient, client_of
from tests.factories import make_merchant, make_wallet
from tests.x402.calls import verdict
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.test_facilitator_settle import UNITS, hand_in
from tests.x402.payers import claim_of, pay_to_of
from wallets.models import ReceivingWallet
from wallets.selectors import forget
from x402.models import Authorization

pytestmark = pytest.mark.django_db


def test_of_a_closed_account_nothing_new_is_sent_and_what_was_paid_is_served(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    to = pay_to_of(exact_seller)
    served = body_of(authorize(base_node, to, UNITS), usdc)
    answer = settle(exact_seller, served, key="a")
    by_hash = hand_in(base_node, told := authorize(base_node, to, UNITS), usdc)
    base_node.mine(3)
    assert exact_seller.merchant
    Merchant.objects.filter(pk=exact_seller.merchant.pk).update(closed_at=timezone.now())

    fresh = body_of(authorize(base_node, to, UNITS), usdc)
    assert verify(exact_seller, fresh)["invalidReason"] == "invalid_payment_requirements"
    refused = settle(exact_seller, fresh)
    assert refused["errorReason"] == "invalid_payment_requirements"
    assert (refused["success"], refused["transaction"]) == (False, "")
    assert GasTransaction.objects.count() == Authorization.objects.count() == 1
    assert settle(exact_seller, served, key="a") == answer
    claim = claim_of(base_node, by_hash, told.to, amount="0.01", price="0.01")
    assert verdict(exact_seller, claim) == "valid"

    Merchant.objects.update(closed_at=None)
    assert verify(exact_seller, fresh)["isValid"]


def test_who_was_told_the_address_before_it_changed_may_still_pay_there(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    before = pay_to_of(exact_seller)
    told = authorize(base_node, before, UNITS)
    assert exact_seller.merchant is not None
    changed = timezone.now()
    ReceivingWallet.objects.update(retired_at=changed)
    make_wallet(exact_seller.merchant, "base", base_node.accounts[7].address)
    forget()
    assert pay_to_of(exact_seller) != before
    assert settle(exact_seller, body_of(told, usdc))["success"]
    ReceivingWallet.objects.filter(retired_at=changed).update(retired_at=changed - timedelta(hours=3))
    late = settle(exact_seller, body_of(authorize(base_node, before, UNITS), usdc))
    assert late["errorReason"] == "invalid_exact_evm_payload_recipient_mismatch"


def test_another_merchants_payment_is_not_settled(base_node: Anvil, exact_seller: ApiClient, usdc: str) -> None:
    merchant = make_merchant("Elsewhere")
    make_wallet(merchant, "base", base_node.accounts[7].address)
    forget()
    stranger = client_of(merchant, Mode.LIVE)
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    reason = "invalid_exact_evm_payload_recipient_mismatch"
    assert verify(stranger, body)["invalidReason"] == reason
    assert settle(stranger, body)["errorReason"] == reason
    assert not Authorization.objects.exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"valid_before": 1}, "invalid_exact_evm_payload_authorization_valid_before"),
        ({"valid_after": 2**40}, "invalid_exact_evm_payload_authorization_valid_after"),
    ],
)
def test_the_time_of_an_authorisation_is_kept(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, changes: Any, reason: str
) -> None:
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS, **changes), usdc)
    assert verify(exact_seller, body)["invalidReason"] == reason
    assert settle(exact_seller, body)["errorReason"] == reason
