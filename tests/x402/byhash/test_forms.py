"""Payers' signatures, made by the libraries that payers use."""

import base64
import secrets
from dataclasses import replace
from typing import Any

import base58
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from nacl.signing import SigningKey
from solders.keypair import Keypair

from gateway.core import json
from gateway.core.api.errors import InvalidRequestError
from localnet.ton.messages import TonWallet
from tests.guides import running
from tests.x402.calls import Claim
from wallets.chains.tron.keys import PrivateKey
from wallets.networks import chain_spec
from x402.byhash.forms import is_signed_by_payer, message_of, parse_verify
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


EVM = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
CLAIM = Claim("base", "USDC", "0x" + "5a" * 32, EVM, EVM)
TRON = replace(
    CLAIM,
    chain="tron",
    token="USDT",
    tx_hash="5a" * 32,
    payer="TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC",
    pay_to="T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb",
)
TON = replace(
    TRON,
    chain="ton",
    payer="EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N",
    pay_to="EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM9c",
)
SOLANA = replace(
    CLAIM,
    chain="solana",
    tx_hash=base58.b58encode(secrets.token_bytes(64)).decode(),
    payer="7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV",
    pay_to="7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV",
)


def hash_of(claim: Claim, tx_hash: str) -> str:
    body = replace(claim, tx_hash=tx_hash).body()
    return parse_verify(body, is_test=False).proof.tx_hash


def refusal(body: Any, *, is_test: bool = False) -> tuple[str | None, str | None]:
    with pytest.raises(InvalidRequestError) as caught:
        parse_verify(body, is_test=is_test)
    return caught.value.param, caught.value.code


def test_every_spelling_of_a_hash_becomes_the_chain_s_own() -> None:
    raw = bytes(range(200, 232))
    digits = raw.hex()
    for spelling in (digits, digits.upper(), f"0x{digits}", f"0X{digits.upper()}"):
        assert hash_of(CLAIM, spelling) == f"0x{digits}"
        assert hash_of(TRON, spelling) == digits
        assert hash_of(TON, spelling) == digits
    for code in (base64.b64encode, base64.urlsafe_b64encode):
        for spelling in (code(raw).decode(), code(raw).decode().rstrip("=")):
            assert hash_of(TON, spelling) == digits
    assert hash_of(SOLANA, SOLANA.tx_hash) == SOLANA.tx_hash


@pytest.mark.parametrize(
    "tx_hash",
    [
        "0x" + "5a" * 32 + "\n",
        " 0x" + "5a" * 32,
        "0x" + "5a" * 31,
        "0x" + "5a" * 33,
        "0x0x" + "5a" * 32,
        "0x" + "5g" * 32,
        "0x" + "٥a" * 32,
        "https://basescan.org/tx/0x" + "5a" * 32,
        "fail_not_found",
        "5a" * 32 + "\u200b",
    ],
)
def test_what_is_no_hash_is_refused(tx_hash: str) -> None:
    body = replace(CLAIM, tx_hash=tx_hash).body()
    assert refusal(body) == ("payment.txHash", "parameter_invalid")


def test_a_hash_of_another_chain_s_kind_is_refused() -> None:
    for claim in (CLAIM, TRON, TON):
        body = replace(claim, tx_hash=SOLANA.tx_hash).body()
        assert refusal(body) == ("payment.txHash", "parameter_invalid")
    body = replace(SOLANA, tx_hash=CLAIM.tx_hash).body()
    assert refusal(body) == ("payment.txHash", "parameter_invalid")
    # Base64 with bits that nothing uses would be a second name of the same transaction.
    loose = base64.b64encode(bytes(32)).decode().replace("A=", "B=")
    assert refusal(replace(TON, tx_hash=loose).body())[0] == "payment.txHash"


@pytest.mark.parametrize(
    "amount",
    [
        *("1e-1", "+1", "-1", "1.", ".5", "0x1", "1,0", "1 ", "1\n", "", "NaN", "Infinity"),
        *("٠٫٥", "0.0000001", "00.5", "01", "1_0", True, [1], {"a": 1}),
    ],
    ids=repr,
)
def test_what_is_no_plain_amount_is_refused(amount: Any) -> None:
    for field in ("amount", "price"):
        body = replace(CLAIM, **{field: amount}).body()
        assert refusal(body)[1] == "amount_invalid"


def test_numbers_and_nothing_are_no_amounts() -> None:
    body = CLAIM.body()
    for number in (b"1", b"0.5", b"1e3"):
        body["payment"]["amount"] = json.loads(number)
        assert refusal(body) == ("payment.amount", "amount_not_string")
    for price in ("0.000000", "1" * 16, "9" * 100_000 + ".5"):
        assert refusal(replace(CLAIM, price=price).body()) == ("requirements.maxAmountRequired", "amount_out_of_range")


def test_amounts_are_compared_as_numbers() -> None:
    told = parse_verify(replace(CLAIM, amount="0.5").body(), is_test=False)
    again = parse_verify(replace(CLAIM, amount="0.500000").body(), is_test=False)
    assert told == again
    assert told.proof.units == 500_000


@pytest.mark.parametrize(
    ("part", "name"),
    [
        *(("payment", name) for name in ("txHash", "chain", "token", "amount")),
        *(("payment", name) for name in ("payerAddress", "payTo")),
        *(("requirements", name) for name in ("scheme", "network", "asset")),
        *(("requirements", name) for name in ("maxAmountRequired", "resource")),
    ],
)
def test_nothing_may_be_missing_or_of_another_type(part: str, name: str) -> None:
    body = CLAIM.body()
    del body[part][name]
    assert refusal(body) == (f"{part}.{name}", "parameter_missing")
    for strange in (7, ["x"], {"a": 1}, True, "\x00", "\ud800"):
        body[part][name] = strange
        assert refusal(body)[0] == f"{part}.{name}"


@pytest.mark.parametrize("part", ["payment", "requirements"])
def test_both_parts_must_be_objects(part: str) -> None:
    body = CLAIM.body()
    body[part] = [body[part]]
    assert refusal(body) == (part, "parameter_invalid")
    del body[part]
    assert refusal(body) == (part, "parameter_missing")


def test_addresses_are_checked_by_their_own_checksums() -> None:
    wrong = EVM[:-1] + "9"
    assert refusal(replace(CLAIM, payer=wrong).body()) == ("payment.payerAddress", "address_invalid")
    assert refusal(replace(CLAIM, pay_to="0x" + "00" * 20).body()) == ("payment.payTo", "address_invalid")
    lower = parse_verify(replace(CLAIM, payer=EVM.lower()).body(), is_test=False)
    assert lower.proof.payer == EVM


def test_other_schemes_and_chains_are_refused() -> None:
    body = CLAIM.body()
    body["requirements"]["scheme"] = "upto"
    assert refusal(body) == ("requirements.scheme", "parameter_invalid")
    assert refusal(replace(CLAIM, network="dogechain").body()) == ("requirements.network", "chain_unsupported")


def test_only_tests_may_ask_for_a_reason_and_only_for_one_there_is() -> None:
    body = replace(CLAIM, tx_hash="fail_too_old").body()
    assert parse_verify(body, is_test=True).proof.tx_hash == "fail_too_old"
    assert refusal(body)[0] == "payment.txHash"
    other = replace(CLAIM, tx_hash="fail_for_fun").body()
    assert refusal(other, is_test=True)[0] == "payment.txHash"


def test_every_part_that_matters_changes_the_digest() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"tx_hash": "0x" + "5b" * 32},
        {"amount": "0.6"},
        {"price": "0.4"},
        {"resource": "another"},
        {"payer": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"},
        {"network": "polygon"},
        {"asset": "USDT"},
        {"extra": (("signature", "0x00"),)},
    ]
    bodies = [replace(CLAIM, **change).body() for change in changes]
    digests = {parse_verify(body, is_test=False).digest for body in bodies}
    assert len(digests) == len(changes)
    assert parse_verify(CLAIM.body() | {"unknown": 1}, is_test=False).digest in digests
