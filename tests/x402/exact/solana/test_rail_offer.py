"""What `/supported` says of Solana."""

from typing import Any

import base58
import pytest
from solders.keypair import Keypair

from accounts.states import Mode
from tests.contract.client import ApiClient
from tests.x402.exact.solana.payers import NETWORK, Shop
from x402.exact.kinds import supported_payload

pytestmark = pytest.mark.django_db(transaction=True)


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
    kinds = supported_payload(Mode.LIVE, merchant_id=merchant_id)["kinds"]
    [account] = {kind["extra"]["feePayer"] for kind in kinds}
    return str(account)
