"""Signatures that prove no receiving wallet: hostile text, other keys, other messages."""

import pytest
from django.conf import settings

from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError
from tests.wallets.proving import prove, start
from tests.wallets.signing import SEED, Signer
from wallets.chains.registry import CHAINS
from wallets.models import ReceivingWallet
from wallets.receiving.proofs import message_of
from wallets.states import ClaimKind

EXACT_AMOUNT_CHAINS = [one.name for one in CHAINS if one.exact_amount_required]

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("chain", EXACT_AMOUNT_CHAINS)
@pytest.mark.parametrize(
    "spoilt",
    [
        "",
        "0x",
        "0x" + "00" * 65,
        "0x" + "ff" * 65,
        "zz" * 65,
        "1" * 88,
        "A" * 88,
        "=" * 88,
        "é" * 40,
        "٠" * 130,
        "<script>",
        "' OR 1=1 --",
    ],
)
def test_a_hostile_signature_proves_nothing(owned_merchant: Merchant, chain: str, spoilt: str) -> None:
    signer = Signer(chain)
    proof = start(owned_merchant, signer)
    with pytest.raises(InvalidRequestError) as caught:
        prove(proof, signer, signature=spoilt)
    assert spoilt == "" or spoilt not in caught.value.message
    proof.refresh_from_db()
    assert proof.used_at is None
    assert not ReceivingWallet.objects.exists()


@pytest.mark.parametrize(
    ("purpose", "payments"),
    [(ClaimKind.CHECKOUT, "payments of buyers"), (ClaimKind.X402, "payments of machines (x402)")],
)
def test_the_message_says_what_is_signed_and_that_it_moves_no_money(
    owned_merchant: Merchant, purpose: ClaimKind, payments: str
) -> None:
    proof = start(owned_merchant)
    proof.purpose = purpose
    message = message_of(proof)
    assert f"this merchant may receive {payments} at it." in message
    assert "moves no money" in message
    assert f"a wallet at {settings.BASE_URL}." in message
    assert f"Merchant: {owned_merchant.public_id}" in message


@pytest.mark.parametrize("chain", EXACT_AMOUNT_CHAINS)
def test_anothers_key_proves_nothing(owned_merchant: Merchant, chain: str) -> None:
    signer, stranger = Signer(chain), Signer(chain, SEED[::-1])
    proof = start(owned_merchant, signer)
    with pytest.raises(InvalidRequestError):
        prove(proof, stranger)
    with pytest.raises(InvalidRequestError):
        prove(proof, signer, signature=signer.sign(message_of(proof) + "\n"))


@pytest.mark.parametrize("key", ["", "zz", "00" * 32, "00" * 31, "é" * 64])
def test_on_ton_the_key_must_be_that_of_the_wallet(owned_merchant: Merchant, key: str) -> None:
    signer = Signer("ton")
    with pytest.raises(InvalidRequestError):
        prove(start(owned_merchant, signer), signer, public_key=key)
