"""Addresses, hashes, links and signatures on Ethereum and its kin."""

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from tests.wallets.chains.examples import EVM
from tests.wallets.chains.requests import request_on
from tests.wallets.signing import SEED, Signer
from wallets.chains.base import AddressError
from wallets.chains.evm import family
from wallets.chains.evm.address import address_key as evm_key
from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.evm.proofs import from_hex, is_signed, typed_digest
from wallets.chains.registry import load_chains
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum


@pytest.mark.parametrize(
    "published",
    [
        EVM,
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
        "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
        "0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582",
    ],
)
def test_evm_addresses_of_any_case_are_written_with_their_checksum(published: str) -> None:
    for text in (published, published.lower(), "0x" + published[2:].upper()):
        assert EVM_FAMILY.canonical_address(text) == published
        assert evm_key(text) == bytes.fromhex(published[2:])


@pytest.mark.parametrize(
    "text",
    [
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914",
        EVM.replace("A", "a", 1),
        EVM[:-1],
        EVM + "0",
        EVM[2:],
        "0X" + EVM[2:],
        EVM.replace("5", "g"),
        f" {EVM}",
        f"{EVM}\n",
        "0x" + "0" * 40,
        "",
    ],
)
def test_mistyped_evm_addresses_are_refused(text: str) -> None:
    with pytest.raises(AddressError):
        evm_key(text)


DIGITS = "5F" * 32


@pytest.mark.parametrize("text", [DIGITS, f"0x{DIGITS}", f"0X{DIGITS}"])
def test_a_hash_is_written_with_0x_and_in_lower_case(text: str) -> None:
    assert EVM_FAMILY.transaction_hash(text) == "0x" + "5f" * 32


@pytest.mark.parametrize("text", ["", DIGITS[:-1], f"{DIGITS}\n", "0x0x" + DIGITS])
def test_what_is_no_hash_is_none(text: str) -> None:
    assert EVM_FAMILY.transaction_hash(text) is None


def test_wallets_call_a_chain_by_its_number_in_hexadecimal() -> None:
    chains = load_chains("mainnet", {})
    told = [EVM_FAMILY.wallets_chain_id(chains[n]) for n in ("base", "polygon")]
    assert told == ["0x2105", "0x89"]


def test_a_contract_of_ours_is_a_trap() -> None:
    with pytest.raises(AddressError, match="contract of this gateway"):
        EVM_FAMILY.refuse_trap(checksum(FACTORY_ADDRESS))
    EVM_FAMILY.refuse_trap(EVM)


@pytest.mark.parametrize(("chain", "number"), [("base", 8453), ("polygon", 137), ("ethereum", 1)])
def test_a_link_asks_for_one_transfer_of_the_token(chain: str, number: int) -> None:
    request = request_on(chain, EVM)
    transfer = f"{request.token_address}@{number}/transfer?address={EVM}&uint256=49000137"
    assert family.payment_uri(request) == f"ethereum:{transfer}"


def test_a_token_that_the_settings_do_not_name_has_no_link() -> None:
    with pytest.raises(KeyError):
        family.payment_uri(request_on("base", EVM, token="DOGE"))


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
