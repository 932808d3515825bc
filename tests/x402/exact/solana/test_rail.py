"""The scheme `exact` on Solana, over a real token program."""

import pytest

from tests.contract.client import ApiClient
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.solana.payers import UNITS, Shop, ticking
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("version", [1, 2])
def test_an_honest_payer_s_transfer_is_verified_and_settled(
    solana_stall: Shop, solana_seller: ApiClient, version: int
) -> None:
    body = solana_stall.body(solana_stall.draft().signed(), version=version)
    payer = str(solana_stall.payer.pubkey())
    assert verify(solana_seller, body) == {"isValid": True, "payer": payer}
    assert not Authorization.objects.exists()
    with ticking(solana_stall.node):
        answer = settle(solana_seller, body)
    assert answer["success"], answer
    payment, row = X402Payment.objects.get(), Authorization.objects.get()
    assert answer["transaction"] == payment.tx_hash == row.tx_hash
    assert (payment.units, payment.payer, payment.pay_to) == (UNITS, payer, solana_stall.wallet)
    assert row.state == AuthorizationState.SETTLED
    again = settle(solana_seller, body)
    assert (again["success"], again["errorReason"]) == (False, "duplicate_settlement")
    assert again["transaction"] == answer["transaction"]
