"""Addresses, links and signatures on Tron, and what its nodes answer for."""

import base58
import pytest

from localnet.tokens import balance_of
from localnet.tron.addresses import to_hex
from localnet.tron.node import USDT as USDT_ON_TRON
from localnet.tron.node import TronNode
from tests.wallets.chains.examples import EVM, SOLANA, TRON
from tests.wallets.evmkin import spec_of
from tests.wallets.signing import Signer
from wallets.chains.base import AddressError
from wallets.chains.evm import proofs as evm_proofs
from wallets.chains.registry import open_pool
from wallets.chains.tron.dialect import address_key
from wallets.chains.tron.family import TRON_FAMILY, is_signed
from wallets.forwarders.addresses import keccak

TRON_HEX = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c"


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        (TRON, TRON_HEX[2:]),
        ("TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf", "eca9bc828a3005b9a3b909f2cc5c2a54794de05f"),
        ("TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs", "42a1e39aefa49290f2b3f9ed688d7cecf86cd6e0"),
    ],
)
def test_a_tron_address_is_its_base58_and_its_key_the_twenty_bytes_of_contracts(text: str, digits: str) -> None:
    assert TRON_FAMILY.canonical_address(text) == text
    assert TRON_FAMILY.address_key(text).hex() == digits


@pytest.mark.parametrize("text", [TRON_HEX, TRON_HEX.upper(), "0x" + TRON_HEX, TRON_HEX[2:], EVM])
def test_a_tron_address_in_hexadecimal_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(AddressError, match=r"starting with T, not in hexadecimal"):
        TRON_FAMILY.canonical_address(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6s", "mistyped"),
        (TRON[:-1] + "u", "mistyped"),
        (TRON.replace("N", "n"), "mistyped"),
        (TRON[:-1], "33 more characters"),
        (TRON.replace("q", "0"), "33 more characters"),
        (SOLANA, "33 more characters"),
    ],
)
def test_mistyped_tron_addresses_are_refused(text: str, message: str) -> None:
    with pytest.raises(AddressError, match=message):
        TRON_FAMILY.canonical_address(text)


def test_trons_create2_is_another_so_no_deposit_address_is_shown_there() -> None:
    """TIP-26 puts 0x41 where EIP-1014 has 0xff: what we compute could never be deployed on Tron, nor emptied."""
    deployer = bytes.fromhex("deadbeef" + "00" * 16)
    on_tron = keccak(b"\x41" + deployer + bytes(32) + keccak(b"\0"))[12:]
    shown = base58.b58encode_check(b"\x41" + on_tron).decode()
    assert shown == "TDmMBaJ8s3pjwH6voNuYDQVMhgQNsMgaL6"
    assert TRON_FAMILY.address_key(shown) == on_tron
    assert on_tron != keccak(b"\xff" + deployer + bytes(32) + keccak(b"\0"))[12:]


TRON_WALLET = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"


def test_tron_is_asked_for_the_newest_block_which_is_all_it_answers_for(tron_node: TronNode) -> None:
    spec = spec_of("tron", tron_node.url)
    pool = open_pool(spec)
    payer_key = TRON_FAMILY.address_key(tron_node.payer_address)
    tron_node.pay(TRON_WALLET, 7)
    key = TRON_FAMILY.address_key(TRON_WALLET)
    told = spec.family.open_holdings(spec, pool).read({key: "", payer_key: ""})
    pool.close()
    left = balance_of(tron_node.anvil, to_hex(USDT_ON_TRON), to_hex(tron_node.payer_address))
    assert told.units == {key: {"USDT": 7}, payer_key: {"USDT": left}}
    assert told.height == tron_node.anvil.block_number()


ME = Signer("tron")
KEY = address_key(ME.address)
MESSAGE = b"pay.example wants this"


def test_a_tron_message_is_signed_by_its_account_alone() -> None:
    signature = ME.sign(MESSAGE.decode())
    assert is_signed(KEY, MESSAGE, signature)
    assert not is_signed(KEY, MESSAGE + b"!", signature)
    assert not is_signed(KEY[::-1], MESSAGE, signature)


def test_a_personal_message_of_ethereum_is_none_of_trons() -> None:
    # The same key has an account on both.
    signature = Signer("base").sign(MESSAGE.decode())
    assert evm_proofs.is_signed(KEY, MESSAGE, signature)
    assert not is_signed(KEY, MESSAGE, signature)
