"""Addresses, hashes, links and signatures on TON."""

import base64
import binascii
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.wallets.chains.examples import EVM, TON, TON_RAW
from tests.wallets.chains.requests import request_on
from tests.wallets.signing import SEED, Signer
from wallets.chains.base import AddressError
from wallets.chains.registry import load_chains
from wallets.chains.ton import family
from wallets.chains.ton.address import address_key, shown_address
from wallets.chains.ton.family import TON_FAMILY, is_signed, standard_wallets

TON_UQ = "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p"


TON_TESTNET = "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"


def friendly(tag: int, workchain: int, account: bytes = bytes(range(32))) -> str:
    """A TON address with a right checksum, whatever it says."""
    body = bytes([tag, workchain]) + account
    crc = binascii.crc_hqx(body, 0).to_bytes(2, "big")
    return base64.urlsafe_b64encode(body + crc).decode()


@pytest.mark.parametrize("text", [TON, TON_UQ, TON_RAW, "0:" + TON_RAW[2:].upper(), TON.replace("_", "/")])
def test_a_ton_address_has_one_form_and_one_key_for_all_its_spellings(text: str) -> None:
    assert TON_FAMILY.canonical_address(text) == TON
    key = TON_FAMILY.address_key(text)
    assert key == b"\0" + bytes.fromhex(TON_RAW[2:])


def test_a_non_bounceable_ton_address_is_kept_bounceable() -> None:
    text = "UQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinf4K"
    canonical = TON_FAMILY.canonical_address(text)
    assert canonical == "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP"


def test_an_address_marked_for_tons_test_network_is_good_there_alone() -> None:
    for text in (TON_TESTNET, friendly(0xD1, 0)):
        with pytest.raises(AddressError, match="test network"):
            TON_FAMILY.canonical_address(text)
    written = TON_FAMILY.canonical_address(TON_TESTNET, is_testnet=True)
    assert written == TON_TESTNET
    # One without the mark is of every network (TEP-2).
    marked = TON_FAMILY.canonical_address(TON, is_testnet=True)
    assert marked.startswith("kQ")
    keys = {TON_FAMILY.address_key(text) for text in (marked, TON)}
    assert len(keys) == 1


def test_an_address_of_tons_masterchain_is_one() -> None:
    key = b"\xff" + bytes.fromhex(TON_RAW[2:])
    text = TON_FAMILY.canonical_address("-1:" + TON_RAW[2:])
    assert text.startswith("Ef")
    assert TON_FAMILY.address_key(text) == key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDY", "mistyped"),
        (TON.replace("f", "F"), "mistyped"),
        (TON_RAW[:-1], "48 characters"),
        ("1" + TON_RAW[1:], "48 characters"),
        (TON[:-1], "48 characters"),
        (TON.replace("E6", "+6"), "48 characters"),
        (friendly(0x12, 0), "must be a TON address"),
        (friendly(0x11, 1), "workchain"),
        (EVM, "48 characters"),
    ],
)
def test_mistyped_ton_addresses_are_refused(text: str, message: str) -> None:
    with pytest.raises(AddressError, match=message):
        TON_FAMILY.canonical_address(text)


# Its base64 has both characters in which the two alphabets differ.
HASH = b"\xfb\xef\xbe\xff" * 8


@pytest.mark.parametrize(
    "text",
    [
        HASH.hex(),
        f"0x{HASH.hex().upper()}",
        base64.b64encode(HASH).decode(),
        base64.urlsafe_b64encode(HASH).decode(),
        base64.b64encode(HASH).decode().rstrip("="),
    ],
)
def test_a_hash_is_read_in_hexadecimal_and_both_alphabets_of_base64(text: str) -> None:
    assert TON_FAMILY.transaction_hash(text) == HASH.hex()


@pytest.mark.parametrize(
    # The last character of the second has bits that nothing uses.
    "text",
    ["", base64.b64encode(HASH).decode()[:-2] + "9=", HASH.hex()[:-1], TON],
)
def test_what_is_not_32_bytes_is_no_hash(text: str) -> None:
    assert TON_FAMILY.transaction_hash(text) is None


def test_people_see_an_address_without_the_mark_of_a_contract() -> None:
    shown = TON_FAMILY.shown_address(TON)
    assert shown == "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p"
    assert TON_FAMILY.address_key(shown) == TON_FAMILY.address_key(TON)
    assert TON_FAMILY.shown_address("no address") is None


def test_the_masterchain_holds_no_tokens() -> None:
    TON_FAMILY.refuse_trap(TON)
    masterchain = TON_FAMILY.canonical_address("-1:" + TON_RAW[2:])
    with pytest.raises(AddressError, match="masterchain"):
        TON_FAMILY.refuse_trap(masterchain)


def test_a_link_names_jetton_units_and_comment() -> None:
    request = request_on("ton", TON)
    uri = urlsplit(family.payment_uri(request))
    assert (uri.scheme, uri.netloc) == ("ton", "transfer")
    # People's wallets show addresses without the mark of a contract.
    assert uri.path == f"/{shown_address(TON)}"
    assert parse_qs(uri.query) == {
        "jetton": [request.token_address],
        "amount": ["49000137"],
        "text": ["0123456789abcdef"],
    }


def test_a_link_that_ends_says_when_in_whole_seconds_before_the_end() -> None:
    lasting = family.payment_uri(request_on("ton", TON))
    ending = family.payment_uri(request_on("ton", TON, until=datetime(2026, 12, 1, 12, 30, 0, 999_999, tzinfo=UTC)))
    assert ending == f"{lasting}&exp=1796128200"
    assert "exp" not in lasting


def test_payments_are_written_where_there_is_a_node_and_name_the_network_as_ton_connect_does() -> None:
    assert TON_FAMILY.wallets_chain_id(load_chains("mainnet", {})["ton"]) is None
    given = {"TON_RPC_URLS": "https://node.example"}
    named = {
        network: TON_FAMILY.wallets_chain_id(load_chains(network, given)["ton"])
        for network in ("mainnet", "testnet", "local")
    }
    assert named == {"mainnet": "-239", "testnet": "-3", "local": "-3"}


def test_without_a_memo_no_comment_is_asked_for() -> None:
    assert "text" not in family.payment_uri(request_on("ton", TON, memo=""))


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
