"""Signatures of TON wallets: over the message itself, by the key of a standard wallet at the address."""

import base64

import pytest

from tests.wallets.signing import SEED, Signer
from wallets.chains.ton.address import address_key
from wallets.chains.ton.proofs import is_signed
from wallets.chains.ton.wallets import standard_wallets

ME, OTHER = Signer("ton"), Signer("ton", SEED[::-1])
WALLET = address_key(ME.address)
MESSAGE = b"pay.example wants this"
SIGNATURE = ME.sign(MESSAGE.decode())


def test_a_message_is_signed_by_the_wallets_own_key() -> None:
    assert is_signed(WALLET, MESSAGE, SIGNATURE, public_key=ME.public_key)
    assert is_signed(WALLET, MESSAGE, SIGNATURE, public_key=f"0x{ME.public_key}")
    assert not is_signed(WALLET, MESSAGE + b"!", SIGNATURE, public_key=ME.public_key)


def test_anothers_key_signs_for_its_own_wallet_alone() -> None:
    signature = OTHER.sign(MESSAGE.decode())
    assert not is_signed(WALLET, MESSAGE, signature, public_key=OTHER.public_key)
    theirs = address_key(OTHER.address)
    assert is_signed(theirs, MESSAGE, signature, public_key=OTHER.public_key)


@pytest.mark.parametrize("text", ["", "?", SIGNATURE[:-4], SIGNATURE + "\n"])
def test_what_is_no_signature_signs_nothing(text: str) -> None:
    assert not is_signed(WALLET, MESSAGE, text, public_key=ME.public_key)


@pytest.mark.parametrize("key", ["", "ab", "g" * 64])
def test_without_the_key_nothing_is_signed(key: str) -> None:
    assert not is_signed(WALLET, MESSAGE, SIGNATURE, public_key=key)


def test_the_wallet_of_a_key_without_a_secret_is_nobodys() -> None:
    key = (1).to_bytes(32, "little")
    signature = base64.b64encode(key + bytes(32)).decode()
    for wallet in standard_wallets(key):
        assert not is_signed(wallet, MESSAGE, signature, public_key=key.hex())
