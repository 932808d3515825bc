"""Whatever a buyer copies is read as the hash it is, and nothing else is."""

import base64

import base58
import pytest

from wallets.chains.registry import CHAINS
from wallets.transfers.hashes import LONGEST_TEXT, UnreadableHashError, spellings

DIGITS = "5fa1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f"
BYTES = bytes.fromhex(DIGITS)
SIGNATURE = base58.b58encode(bytes(range(100, 164))).decode()
EVM = ("base", "polygon", "ethereum", "arbitrum", "optimism", "bnb")
HEX = dict.fromkeys(EVM, f"0x{DIGITS}") | {"tron": DIGITS, "ton": DIGITS}
# Its base64 has both characters in which the two alphabets differ.
AWKWARD = b"\xfb\xef\xbe\xff" * 8


@pytest.mark.parametrize(
    "text",
    [
        DIGITS,
        DIGITS.upper(),
        f"0x{DIGITS}",
        f"0X{DIGITS.upper()}",
        f"  {DIGITS}\n",
        f"\ufeff\u201c{DIGITS}\u201d\u00a0",
        f"'0x{DIGITS}'.",
        f"https://basescan.org/tx/0x{DIGITS}",
        f"https://basescan.org/tx/0x{DIGITS}#eventlog",
        f"https://tronscan.org/#/transaction/{DIGITS}",
        f"tonviewer.com/transaction/{DIGITS}/",
        f"https://explorer.example/?tx=0x{DIGITS}&lang=en",
        f"my transaction: 0x{DIGITS}, thank you",
        f"TxID:{DIGITS}",
        f"\u4ea4\u6613\u54c8\u5e0c\uff1a0x{DIGITS}\u3002",
        f"\uff080x{DIGITS}\uff09",
        f"\u2066{DIGITS}\u2069\u060c",
        f"https://explorer.example/tx/{DIGITS}?hash=0x{DIGITS}",
    ],
)
def test_hexadecimal_may_be_of_every_chain_that_writes_it(text: str) -> None:
    assert spellings(text) == HEX


@pytest.mark.parametrize(
    "text",
    [
        SIGNATURE,
        f"\u00ab{SIGNATURE}\u00bb",
        f"https://solscan.io/tx/{SIGNATURE}",
        f"https://explorer.solana.com/tx/{SIGNATURE}?cluster=devnet",
    ],
)
def test_base58_of_sixty_four_bytes_is_solanas(text: str) -> None:
    assert spellings(text) == {"solana": SIGNATURE}


@pytest.mark.parametrize("data", [BYTES, AWKWARD])
def test_base64_of_thirty_two_bytes_is_tons_in_either_alphabet(data: bytes) -> None:
    standard, other = base64.b64encode(data), base64.urlsafe_b64encode(data)
    for text in (standard.decode(), other.decode()):
        assert spellings(text) == {"ton": data.hex()}
        assert spellings(text.rstrip("=")) == {"ton": data.hex()}
    escaped = standard.decode().replace("/", "%2F").replace("+", "%2B")
    link = f"https://tonscan.org/tx/{escaped.replace('=', '%3D')}"
    assert spellings(link) == {"ton": data.hex()}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        DIGITS[:-1],
        f"{DIGITS}0",
        f"0x{DIGITS}00",
        f"{DIGITS[:-1]}g",
        f"{DIGITS} and {DIGITS[::-1]}",
        # Digits to Python, but to nobody else.
        "\u0661" * 64,
        # Addresses, and a signature with a byte too few.
        "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
        "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs",
        base58.b58encode(bytes(range(100, 163))).decode(),
        # Base64 whose unused bits are set: no program wrote it.
        base64.b64encode(BYTES).decode()[:42] + "/=",
        f"{DIGITS}{' ' * LONGEST_TEXT}",
    ],
)
def test_what_names_no_transaction_or_two_is_refused(text: str) -> None:
    with pytest.raises(UnreadableHashError):
        spellings(text)


def test_every_chain_is_known_by_the_way_it_writes_hashes() -> None:
    assert {*HEX, "solana"} == {facts.name for facts in CHAINS}
