"""Signatures of Solana accounts are over the message itself, in base58."""

import base58
import pytest

from tests.wallets.signing import Signer
from wallets.chains.solana.proofs import is_signed, verifies

ME = Signer("solana")
KEY = base58.b58decode(ME.address)
MESSAGE = b"pay.example wants this"


def test_a_message_is_signed_by_its_key_alone() -> None:
    signature = ME.sign(MESSAGE.decode())
    assert is_signed(KEY, MESSAGE, signature)
    assert not is_signed(KEY, MESSAGE + b"!", signature)
    assert not is_signed(KEY[::-1], MESSAGE, signature)


@pytest.mark.parametrize("text", ["", "0OIl", "1" * 64, "z" * 200])
def test_what_is_no_signature_signs_nothing(text: str) -> None:
    assert not is_signed(KEY, MESSAGE, text)


def test_a_key_of_another_length_verifies_nothing() -> None:
    assert not verifies(KEY[:-1], MESSAGE, base58.b58decode(ME.sign("x")))
