"""The scheme `exact` on Solana, over a real token program."""

import pytest

from tests.contract.client import ApiClient
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.solana.payers import UNITS, Shop, ticking
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("version", [1, 2])
def test_an_honest_payer_s_transfer_is_verified_and_settled(shop: Shop, seller: ApiClient, version: int) -> None:
    body = shop.body(shop.draft().signed(), version=version)
    payer = str(shop.payer.pubkey())
    assert verify(seller, body) == {"isValid": True, "payer": payer}
    assert not Authorization.objects.exists()
    with ticking(shop.node):
        answer = settle(seller, body)
    assert answer["success"], answer
    payment, row = X402Payment.objects.get(), Authorization.objects.get()
    assert answer["transaction"] == payment.tx_hash == row.tx_hash
    assert (payment.units, payment.payer, payment.pay_to) == (UNITS, payer, shop.wallet)
    assert row.state == AuthorizationState.SETTLED
    again = settle(seller, body)
    assert (again["success"], again["errorReason"]) == (False, "duplicate_settlement")
    assert again["transaction"] == answer["transaction"]
