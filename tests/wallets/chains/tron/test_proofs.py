"""Signatures of Tron accounts are over a TRON message, and over no other."""

from tests.wallets.signing import Signer
from wallets.chains.evm import proofs as evm_proofs
from wallets.chains.tron.address import address_key
from wallets.chains.tron.proofs import is_signed

ME = Signer("tron")
KEY = address_key(ME.address)
MESSAGE = b"pay.example wants this"


def test_a_tron_message_is_signed_by_its_account_alone() -> None:
    signature = ME.sign(MESSAGE.decode())
    assert is_signed(KEY, MESSAGE, signature)
    assert not is_signed(KEY, MESSAGE + b"!", signature)
    assert not is_signed(KEY[::-1], MESSAGE, signature)


def test_a_personal_message_of_ethereum_is_none_of_trons() -> None:
    # The same key has an account on both.
    signature = Signer("base").sign(MESSAGE.decode())
    assert evm_proofs.is_signed(KEY, MESSAGE, signature)
    assert not is_signed(KEY, MESSAGE, signature)
