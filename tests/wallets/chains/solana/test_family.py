"""Slots of Solana are reckoned back from the newest one."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import base58
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from solders.pubkey import Pubkey
from solders.signature import Signature

from localnet.solana.node import SolanaNode
from tests.wallets.chains.examples import EVM, SOLANA
from tests.wallets.chains.requests import REFERENCE, request_on
from tests.wallets.chains.solana.reading import open_reader
from tests.wallets.signing import Signer
from wallets.chains.base import AddressError
from wallets.chains.registry import load_chains, open_pool
from wallets.chains.solana import family
from wallets.chains.solana.family import SOLANA_FAMILY, SolanaTimes
from wallets.chains.solana.proofs import is_signed, verifies


def test_slots_are_counted_as_if_none_took_longer(solana_node: SolanaNode) -> None:
    spec = load_chains("local", {"SOLANA_RPC_URLS": solana_node.url})["solana"]
    pool = open_pool(spec)
    times = SolanaTimes(spec, pool)
    reader = open_reader(solana_node.url)
    low = reader.head().block
    back = times.before(low.time - timedelta(seconds=4))
    high = reader.head().block
    # Four tenths of a second each; the head may have moved on while it was asked for, and its time by a second.
    assert max(low.height - 13, 0) <= back.height <= max(high.height, 0)
    assert back == times.at(back.height)
    assert times.before(low.time - timedelta(days=9_000)).height == 0
    reader.close()
    pool.close()


@pytest.mark.parametrize("text", [SOLANA, "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"])
def test_a_solana_address_is_the_base58_of_its_key(text: str) -> None:
    assert SOLANA_FAMILY.canonical_address(text) == text
    assert base58.b58encode(SOLANA_FAMILY.address_key(text)).decode() == text


@pytest.mark.parametrize(
    "text", [SOLANA[:-4], "1" + SOLANA, "z" * 44, "1" * 33, SOLANA.replace("F", "0"), SOLANA.replace("F", "l"), EVM]
)
def test_what_is_not_exactly_32_bytes_of_base58_is_no_solana_address(text: str) -> None:
    with pytest.raises(AddressError, match="32 bytes"):
        SOLANA_FAMILY.canonical_address(text)


SIGNATURE = base58.b58encode(bytes(range(100, 164))).decode()


def test_a_transaction_is_named_by_a_signature_of_64_bytes() -> None:
    assert SOLANA_FAMILY.transaction_hash(SIGNATURE) == SIGNATURE


@pytest.mark.parametrize("text", ["", SOLANA, SIGNATURE + "1", f"0{SIGNATURE[1:]}", "1" * 65])
def test_what_is_not_64_bytes_of_base58_names_none(text: str) -> None:
    assert SOLANA_FAMILY.transaction_hash(text) is None


def test_payments_are_written_where_there_is_a_node() -> None:
    without = load_chains("mainnet", {})["solana"]
    assert not SOLANA_FAMILY.prepares_payments(without)
    assert SOLANA_FAMILY.wallets_chain_id(without) is None
    given = {"SOLANA_RPC_URLS": "https://node.example"}
    named = {
        network: SOLANA_FAMILY.wallets_chain_id(load_chains(network, given)["solana"])
        for network in ("mainnet", "testnet", "local")
    }
    assert named == {"mainnet": "solana:mainnet", "testnet": "solana:devnet", "local": "solana:localnet"}


def test_a_key_can_sign_and_what_a_program_derived_cannot() -> None:
    assert SOLANA_FAMILY.can_sign(Signer("solana").address)
    # The associated token account of a published example.
    assert not SOLANA_FAMILY.can_sign("H51DXRt3ubThhdhNeDMScfkbC5X4AWzYfHaZS3JKEfPh")


def query_of(uri: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(uri).query)


def test_a_link_names_amount_mint_and_reference() -> None:
    request = request_on("solana", SOLANA)
    uri = family.payment_uri(request)
    assert uri.startswith(f"solana:{SOLANA}?")
    assert query_of(uri) == {
        "amount": ["49.000137"],
        "spl-token": [request.token_address],
        "reference": [base58.b58encode(REFERENCE).decode()],
    }


def test_without_a_reference_none_is_named() -> None:
    uri = family.payment_uri(request_on("solana", SOLANA, reference=b""))
    assert "reference" not in query_of(uri)


def test_a_long_text_is_cut_between_two_characters() -> None:
    uri = family.payment_uri(request_on("solana", SOLANA, label="Käse" * 20, message="€" * 20))
    query = query_of(uri)
    # 32 and 48 percent-encoded bytes: "ä" takes six of them, "€" nine.
    assert query["label"] == ["Käse" * 3 + "K"]
    assert query["message"] == ["€" * 5]


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
