"""Token accounts of Solana: the ones that are read, and that they are no wallets."""

import pytest
from solders.keypair import Keypair

from gateway.core.api.errors import InvalidRequestError
from tests.wallets.receiving.test_traps import (
    OWNER,
    TOKEN_ACCOUNT,
    TOKEN_PROGRAM,
    USDC_MINT,
    set_wallet,
)
from wallets.chains.base import AddressError
from wallets.chains.registry import load_chains
from wallets.chains.solana.questions import token_account
from wallets.receiving.traps import refuse_traps

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("owner", "account"),
    [
        (OWNER, TOKEN_ACCOUNT),
        (
            "3i476kTBBTy7pBGx4CXwJpJ6phuwLQgcwLTdHhU3c7ui",
            "H51DXRt3ubThhdhNeDMScfkbC5X4AWzYfHaZS3JKEfPh",
        ),
    ],
)
def test_the_token_accounts_we_read_are_those_of_the_main_network_and_no_wallets(
    owner: str, account: str
) -> None:
    assert token_account(owner, mint=USDC_MINT, program=TOKEN_PROGRAM) == account
    assert set_wallet("solana", owner).address == owner
    with pytest.raises(InvalidRequestError, match="token account"):
        set_wallet("solana", account)


def test_a_wallet_of_solana_is_a_point_on_the_curve_and_its_token_account_is_none() -> (
    None
):
    spec = load_chains("local", {})["solana"]
    for _ in range(50):
        owner = str(Keypair().pubkey())
        refuse_traps(spec, owner)
        account = token_account(owner, mint=USDC_MINT, program=TOKEN_PROGRAM)
        with pytest.raises(AddressError, match="token account"):
            refuse_traps(spec, account)
