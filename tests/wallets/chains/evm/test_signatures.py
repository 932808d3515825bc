"""Whose signature it is, judged as tokens and Permit2 judge it."""

import pytest
from eth_abi.abi import encode
from eth_keys.datatypes import PrivateKey

from wallets.chains.evm.authorizations.contracts import is_of_key, unwrapped

KEY = PrivateKey(b"\x07" * 32)
MESSAGE = b"\x11" * 32
ENDING = bytes.fromhex("6492" * 16)


def signed(v: int = 27) -> bytes:
    raw = KEY.sign_msg_hash(MESSAGE).to_bytes()
    return raw[:64] + bytes([raw[64] + v])


@pytest.mark.parametrize("v", [0, 27])
def test_a_key_signed_what_it_signed_and_nothing_else(v: int) -> None:
    payer = KEY.public_key.to_checksum_address()
    assert is_of_key(payer, MESSAGE, signed(v))
    assert not is_of_key(payer, b"\x12" * 32, signed(v))
    assert not is_of_key("0x" + "11" * 20, MESSAGE, signed(v))


@pytest.mark.parametrize("wrong", [b"", signed()[:64], signed()[:64] + b"\x02"])
def test_what_no_key_writes_is_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError, match="no key signs so"):
        is_of_key(KEY.public_key.to_checksum_address(), MESSAGE, wrong)


def test_a_signature_is_taken_out_of_its_wrapping() -> None:
    kinds = ("address", "bytes", "bytes")
    wrapped = encode(kinds, ("0x" + "11" * 20, b"make", b"inner")) + ENDING
    assert (unwrapped(wrapped).inner, unwrapped(wrapped).deploys) == (b"inner", True)
    nobody = encode(kinds, ("0x" + "00" * 20, b"make", b"inner")) + ENDING
    assert not unwrapped(nobody).deploys
    assert unwrapped(b"plain").inner == b"plain"


def test_a_bad_wrapping_is_refused() -> None:
    with pytest.raises(ValueError, match="wrapped badly"):
        unwrapped(b"\xff" * 64 + ENDING)
