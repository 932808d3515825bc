"""Token accounts of Solana: the ones that are read, and that they are no wallets."""

import pytest

from tests.wallets.receiving.test_service import OWNER, TOKEN_PROGRAM, USDC_MINT, set_wallet
from wallets.chains.solana.questions import token_account
from wallets.chains.solana.unsigned_payment import is_wallet

pytestmark = pytest.mark.django_db

# The owner's account for USDC, as it stands on the main network.
TOKEN_ACCOUNT = "8dqL6jKduEJwfAem49yAvXB8YczkDPgVCgU88VPfTnAP"


@pytest.mark.parametrize(
    ("owner", "account"),
    [
        (OWNER, TOKEN_ACCOUNT),
        ("3i476kTBBTy7pBGx4CXwJpJ6phuwLQgcwLTdHhU3c7ui", "H51DXRt3ubThhdhNeDMScfkbC5X4AWzYfHaZS3JKEfPh"),
    ],
)
def test_the_token_accounts_we_read_are_those_of_the_main_network_and_no_wallets(owner: str, account: str) -> None:
    assert token_account(owner, mint=USDC_MINT, program=TOKEN_PROGRAM) == account
    assert set_wallet("solana", owner).address == owner
    assert is_wallet(owner)
    assert not is_wallet(account)
