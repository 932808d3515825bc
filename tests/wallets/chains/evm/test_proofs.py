"""Signatures of EVM accounts: over a personal message or a digest, as wallets' own libraries make them."""

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from tests.wallets.signing import SEED, Signer
from wallets.chains.evm.proofs import from_hex, is_signed, typed_digest

ME = Signer("base")
KEY = bytes.fromhex(ME.address[2:])
MESSAGE = b"pay.example wants this"
# What secp256k1's keys count to (SEC 2).
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def test_a_personal_message_is_signed_by_its_account_alone() -> None:
    signature = ME.sign(MESSAGE.decode())
    assert is_signed(KEY, MESSAGE, signature)
    assert is_signed(KEY, MESSAGE, signature.removeprefix("0x"))
    assert not is_signed(KEY, MESSAGE + b"!", signature)
    assert not is_signed(KEY[::-1], MESSAGE, signature)


def test_a_digest_of_typed_data_is_as_good() -> None:
    types = {"Proof": {"text": "string", "amount": "uint256"}}
    domain, message = {"name": "Florin", "chainId": 8453}, {"text": "x", "amount": 7}
    digest = typed_digest(types, domain, message)
    signable = encode_typed_data(
        domain, {"Proof": [{"name": "text", "type": "string"}, {"name": "amount", "type": "uint256"}]}, message
    )
    signed = bytes(Account.sign_message(signable, SEED).signature).hex()
    assert is_signed(KEY, MESSAGE, signed, digests=[digest])
    assert not is_signed(KEY, MESSAGE, signed)


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        typed_digest({"Proof": {"amount": "uint8"}}, {"name": "x"}, {"amount": 256})


def test_the_twin_of_a_signature_is_refused() -> None:
    signed = from_hex(ME.sign(MESSAGE.decode()))
    high = ORDER - int.from_bytes(signed[32:64], "big")
    twin = signed[:32] + high.to_bytes(32, "big") + bytes([27 + 28 - signed[64]])
    assert not is_signed(KEY, MESSAGE, twin.hex())


@pytest.mark.parametrize("text", ["", "0x", "0x12", "zz" * 65, "00" * 65, "\u0661" * 130])
def test_what_is_no_signature_signs_nothing(text: str) -> None:
    assert not is_signed(KEY, MESSAGE, text)
