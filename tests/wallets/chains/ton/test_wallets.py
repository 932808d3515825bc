"""Where the wallets of a key are on TON."""

import base64

import pytest
from nacl.signing import SigningKey

from wallets.chains.ton.family import TON_FAMILY, standard_wallets

# What WalletContractV5R1 of @ton/ton 16.3.0 makes of a key of equal bytes, on mainnet and on testnet.
V5R1 = [
    (0x11, "5889937f42c25258cb60d6098f23b968fb167f66f12a2e7678296a9e9512e9aa"),
    (0x11, "4fcb0f0fa9355375fa5bd244f842950fc5f8276619b3b53bdd80200887d56c62"),
    (0xAB, "416e495f1d7430b229571ca886a8b6c4fbe596e6314527827609bd6072230693"),
    (0xAB, "7c3a7d35536417940b83b3f80175dbe111356b1ce51ac8b8497714faf4598338"),
    (0x07, "9e88a7a0cd2fa9a4a0d83f41daa773364b295d2855394419314df2ea91fee8fe"),
    (0x07, "8740ec1f40ef6bf8fe773a6b2fd2ed632c78d8195e6c6835b22efa730006bc15"),
]
MESSAGE = b"I own this wallet."


@pytest.mark.parametrize(("byte", "address"), V5R1)
def test_version_5_is_where_its_own_library_has_it(byte: int, address: str) -> None:
    assert b"\0" + bytes.fromhex(address) in standard_wallets(bytes([byte]) * 32)
    assert b"\0" + bytes.fromhex(address) not in standard_wallets(bytes(32))


def test_a_key_has_six_wallets() -> None:
    assert len({*standard_wallets(bytes(range(32)))}) == 6


def test_the_key_of_a_wallet_of_version_5_signs_for_it_and_no_other_does() -> None:
    mine, other = SigningKey(bytes(range(32))), SigningKey(bytes(range(1, 33)))
    *_, mainnet, _testnet = standard_wallets(bytes(mine.verify_key))
    address = f"0:{mainnet[1:].hex()}"
    assert TON_FAMILY.address_key(address) == mainnet
    assert _signs(mine, address)
    assert not _signs(other, address)


def _signs(key: SigningKey, address: str) -> bool:
    return TON_FAMILY.is_signed_by(
        address, MESSAGE, base64.b64encode(key.sign(MESSAGE).signature).decode(), public_key=bytes(key.verify_key).hex()
    )
