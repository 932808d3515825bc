"""Payers' signatures, made by the libraries that payers use."""

import base64
from dataclasses import replace
from typing import Any

import base58
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from nacl.signing import SigningKey
from solders.keypair import Keypair

from demo.localnet.ton.messages import TonWallet
from tests.guides import running
from wallets.chains.tron.keys import PrivateKey
from wallets.networks import chain_spec
from x402.byhash.forms import is_signed_by_payer, message_of
from x402.inputs import Proof, Requirements

SECRET = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
OTHER_SECRET = SECRET[:-1] + "e"
PAY_TO = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
WANTED = Requirements("base", "USDC", 500_000, "https://shop.example/report/7")
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def evm_proof(chain: str = "base") -> Proof:
    payer = Account.from_key(SECRET).address
    return Proof("0x" + "5a" * 32, chain, "USDC", 500_000, payer, PAY_TO)


def personal(proof: Proof, secret: str = SECRET, **changes: Any) -> str:
    text = message_of(replace(proof, **changes), WANTED)
    signed = Account.sign_message(encode_defunct(text=text), secret)
    return "0x" + bytes(signed.signature).hex()


def typed(proof: Proof, *, chain_id: int, secret: str = SECRET) -> str:
    fields = ("transaction", "payTo", "resource")
    signable = encode_typed_data(
        domain_data={"name": "x402 payment proof", "version": "1", "chainId": chain_id},
        message_types={"Proof": [{"name": name, "type": "string"} for name in fields]},
        message_data={"transaction": proof.tx_hash, "payTo": proof.pay_to, "resource": WANTED.resource},
    )
    signed = Account.sign_message(signable, secret)
    return "0x" + bytes(signed.signature).hex()


def holds(proof: Proof, signature: str, **changes: Any) -> bool | None:
    return is_signed_by_payer(replace(proof, signature=signature, **changes), WANTED)


def test_the_message_names_chain_transaction_recipient_and_resource() -> None:
    assert message_of(evm_proof(), WANTED) == (
        "x402 payment proof\n"
        "chain: base\n"
        f"transaction: 0x{'5a' * 32}\n"
        f"payTo: {PAY_TO}\n"
        "resource: https://shop.example/report/7"
    )


def test_without_a_signature_nothing_is_said() -> None:
    assert holds(evm_proof(), "") is None


@pytest.mark.parametrize("chain", ["base", "polygon", "ethereum"])
def test_evm_payers_sign_a_personal_message_or_typed_data(chain: str) -> None:
    proof = evm_proof(chain)
    chain_id = chain_spec(chain).chain_id
    assert chain_id is not None
    for signature in (personal(proof), typed(proof, chain_id=chain_id)):
        assert holds(proof, signature) is True
        assert holds(proof, signature.removeprefix("0x").upper()) is True
    assert holds(proof, typed(proof, chain_id=chain_id + 1)) is False


def test_what_was_signed_for_something_else_is_no_signature() -> None:
    proof = evm_proof()
    good = personal(proof)
    others = [{"tx_hash": "0x" + "5b" * 32}, {"pay_to": proof.payer}, {"chain": "polygon"}, {"payer": PAY_TO}]
    for change in others:
        assert holds(proof, good, **change) is False
    resource = replace(WANTED, resource="another")
    assert is_signed_by_payer(replace(proof, signature=good), resource) is False
    assert holds(proof, personal(proof, OTHER_SECRET)) is False


def malleated(signature: str) -> str:
    """The other signature that every signature makes: its s taken from the curve's order."""
    raw = bytes.fromhex(signature[2:])
    r, s, v = raw[:32], int.from_bytes(raw[32:64], "big"), raw[64]
    return "0x" + (r + (ORDER - s).to_bytes(32, "big") + bytes([55 - v])).hex()


@pytest.mark.parametrize(
    "spoil",
    [
        malleated,
        lambda text: text[:-2],
        lambda text: text + "00",
        lambda text: text[:-2] + "ff",
        lambda text: text[:-2] + "1d",
        lambda text: "0x" + "00" * 65,
        lambda text: "0x" + "ff" * 65,
        lambda text: "0x" + "zz" * 65,
        lambda text: "0x " + text[2:],
        lambda text: text[2:4] + " " + text[5:],
        lambda text: "٠" * 130,
        lambda text: "0x",
    ],
    ids=["malleated", "short", "long", "v-255", "v-29", "zeros", "ones", "letters", "space", "gap", "digits", "empty"],
)
def test_a_spoilt_signature_is_none(spoil: Any) -> None:
    for proof, signature in ((evm_proof(), personal(evm_proof())), tron_signed()):
        assert holds(proof, signature) is True
        assert holds(proof, spoil(signature)) is False


def tron_signed() -> tuple[Proof, str]:
    key = PrivateKey(bytes.fromhex(SECRET[2:]))
    payer = key.public_key.to_base58check_address()
    pay_to = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
    proof = Proof("5a" * 32, "tron", "USDT", 500_000, payer, pay_to)
    signature = bytes.fromhex(key.sign_msg(message_of(proof, WANTED).encode()).hex())
    # Wallets write the last byte as 27 or 28, tronpy as 0 or 1.
    return proof, "0x" + signature[:64].hex() + bytes([signature[64] % 27 + 27]).hex()


def test_tron_payers_sign_a_tron_message() -> None:
    proof, signature = tron_signed()
    assert holds(proof, signature) is True
    last = int(signature[-2:], 16) - 27
    assert holds(proof, f"{signature[:-2]}0{last}") is True
    # Ethereum's prefix is another message.
    assert holds(proof, personal(proof)) is False


def test_solana_payers_sign_the_message_itself() -> None:
    keys = Keypair.from_seed(bytes(range(32)))
    payer = str(keys.pubkey())
    proof = Proof("5" * 88, "solana", "USDC", 500_000, payer, payer)
    signature = str(keys.sign_message(message_of(proof, WANTED).encode()))
    assert holds(proof, signature) is True
    assert holds(proof, signature, tx_hash="4" * 88) is False
    stranger = str(Keypair.from_seed(bytes(32)).sign_message(b"x"))
    raw = base58.b58decode(signature)
    malleable = int.from_bytes(raw[32:], "little") + 2**252
    spoilt = [
        stranger,
        base58.b58encode(raw[:-1]).decode(),
        base58.b58encode(raw + b"\0").decode(),
        base58.b58encode(raw[:32] + malleable.to_bytes(32, "little")).decode(),
        "0" * 88,
        "l",
        "é",
    ]
    for one in spoilt:
        assert holds(proof, one) is False


def ton_signed(seed: bytes = bytes(range(32))) -> tuple[Proof, str]:
    wallet, key = TonWallet(seed), SigningKey(seed)
    proof = Proof(
        *("5a" * 32, "ton", "USDT", 500_000, wallet.address, wallet.address), public_key=bytes(key.verify_key).hex()
    )
    signed = key.sign(message_of(proof, WANTED).encode()).signature
    return proof, base64.b64encode(signed).decode()


def test_ton_payers_sign_the_message_and_show_their_key() -> None:
    proof, signature = ton_signed()
    assert holds(proof, signature) is True
    for change in (
        {"public_key": ""},
        {"public_key": "00" * 32},
        {"public_key": proof.public_key[:-2]},
        {"public_key": "zz" * 32},
        {"tx_hash": "5b" * 32},
    ):
        assert holds(proof, signature, **change) is False
    for spoilt in (signature[:-4], signature[:-1], "=", "é" * 88, signature + "AAAA"):
        assert holds(proof, spoilt) is False


def test_on_ton_anybody_s_own_key_does_not_sign_for_another_wallet() -> None:
    proof, _ = ton_signed()
    thief, signature = ton_signed(bytes(32))
    assert holds(thief, signature) is True
    theirs = replace(proof, public_key=thief.public_key)
    key = SigningKey(bytes(32))
    signed = key.sign(message_of(theirs, WANTED).encode()).signature
    assert holds(theirs, base64.b64encode(signed).decode()) is False


def test_what_the_guides_program_signs_is_accepted_for_its_resource_alone() -> None:
    [program] = running("docs/guide/x402.md", "python")
    names: dict[str, object] = {}
    exec(program.code, names)
    sign = names["sign_proof"]
    assert callable(sign)
    payer = Account.from_key(SECRET).address
    proof = Proof("0x" + "5a" * 32, "base", "USDC", 500_000, payer, PAY_TO)
    signature = sign(SECRET, proof.tx_hash, PAY_TO, WANTED.resource)
    signed = replace(proof, signature=signature)
    assert is_signed_by_payer(signed, WANTED) is True
    assert is_signed_by_payer(signed, replace(WANTED, resource="/other")) is False
