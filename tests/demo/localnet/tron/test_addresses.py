"""Tron's addresses, both ways."""

import base58
import pytest

from demo.localnet.tron.addresses import to_base58, to_hex

# USDT on the main network.
BASE58, HEX = ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "0xa614f803B6FD780986A42c78Ec9c7f77e6DeD13C")


def test_both_spellings_are_one_address() -> None:
    assert to_base58(HEX) == BASE58
    assert to_hex(BASE58) == HEX


@pytest.mark.parametrize("wrong", [BASE58[:-1] + "u", base58.b58encode_check(bytes(21)).decode()])
def test_a_wrong_checksum_and_another_prefix_are_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        to_hex(wrong)
