"""Signatures of Solana accounts are over the message itself, in base58."""

import base58
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from solders.pubkey import Pubkey
from solders.signature import Signature

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


PRIME = 2**255 - 19
GROUP = 2**252 + 27742317777372353535851937790883648493
OF_ORDER_8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022
# Each y with both signs: the eight points of small order, and their other encodings, y + p and a sign of zero.
SMALL = [
    (y | sign << 255).to_bytes(32, "little")
    for y in (0, 1, PRIME - 1, OF_ORDER_8, PRIME - OF_ORDER_8, PRIME, PRIME + 1)
    for sign in (0, 1)
]


def forged(key: bytes) -> tuple[bytes, bytes] | None:
    """A message and a signature that nobody made, which the library takes for the key's; None if it takes none."""
    signature = (1).to_bytes(32, "little") + bytes(32)
    for number in range(64):
        message = number.to_bytes(1, "big")
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except InvalidSignature:
            continue
        return message, signature
    return None


def test_a_key_of_small_order_signs_nothing_in_any_encoding() -> None:
    found = {key: forged(key) for key in SMALL}
    # The eight points themselves, or the control shows nothing.
    assert sum(each is not None for each in found.values()) >= 8
    for key, each in found.items():
        message, signature = each or (b"x", (1).to_bytes(32, "little") + bytes(32))
        assert not verifies(key, message, signature)
        # The payer of x402 on Solana is verified by the network's own library, with the same rule.
        assert not Signature(signature).verify(Pubkey(key), message)


def test_a_signature_has_one_form() -> None:
    signature = base58.b58decode(ME.sign(MESSAGE.decode()))
    larger = int.from_bytes(signature[32:], "little") + GROUP
    assert verifies(KEY, MESSAGE, signature)
    assert not verifies(KEY, MESSAGE, signature[:32] + larger.to_bytes(32, "little"))
    for point in SMALL:
        assert not verifies(KEY, MESSAGE, point + signature[32:])
