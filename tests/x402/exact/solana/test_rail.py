"""The scheme `exact` on Solana, over a real token program."""

from typing import Any

import base58
import pytest
from solders.keypair import Keypair

from accounts.states import Mode
from tests.contract.client import ApiClient
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.solana.payers import NETWORK, UNITS, Shop, ticking
from x402.exact.kinds import supported_payload
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


def test_both_versions_of_solana_are_offered_with_the_account_that_pays_the_network(
    solana_stall: Shop, solana_seller: ApiClient
) -> None:
    told = solana_seller.get("/x402/supported").body
    extra = {"feePayer": solana_stall.fee_payer}
    assert told["kinds"] == [
        {"x402Version": 2, "scheme": "exact", "network": NETWORK, "extra": extra},
        {"x402Version": 1, "scheme": "exact", "network": "solana", "extra": extra},
    ]
    assert told["signers"] == {"eip155:*": [], "solana:*": [solana_stall.fee_payer]}


def test_a_merchant_is_always_told_the_same_account_and_merchants_share_them(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any
) -> None:
    keys = [Keypair() for _ in range(3)]
    settings.GAS_KEYS_SOLANA = [base58.b58encode(bytes(key)).decode() for key in keys]
    told = {merchant: {_account_told(merchant) for _ in range(8)} for merchant in range(1, 4)}
    assert [len(accounts) for accounts in told.values()] == [1, 1, 1]
    assert set().union(*told.values()) == {str(key.pubkey()) for key in keys}


def _account_told(merchant_id: int) -> str:
    kinds = supported_payload(Mode.LIVE, merchant_id=merchant_id, extensions=[])["kinds"]
    [account] = {kind["extra"]["feePayer"] for kind in kinds}
    return str(account)
