"""What is sent to the facilitator by hand: hostile until read."""

import base64
import secrets
from dataclasses import replace
from typing import Any

import base58
import pytest

from gateway.core import json
from gateway.core.api.errors import InvalidRequestError
from tests.x402.calls import Claim
from x402.byhash.forms import parse_verify

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
