"""`florin verify`, and the client's check of signed receipts: the vectors that every verifier passes, and receipts of today."""

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.lifecycle.signed_receipts import signed_receipt
from checkouts.models import Checkout
from florin import cli, receipts
from florin.errors import OtherModeError, ReceiptError
from gateway.core.signing import KeyPurpose, claims_of, jwks, sign_plain
from tests.checkouts.factories import make_completed
from tests.factories import NOON
from tests.tree import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "clients/conformance/receipts.json").read_text())


def outcome_of(token: str) -> str:
    try:
        receipts.verify(token, VECTORS["jwks"])
    except ReceiptError as error:
        return error.outcome
    except OtherModeError:
        return "test"
    return "genuine"


@pytest.mark.parametrize("case", VECTORS["cases"], ids=[case["name"] for case in VECTORS["cases"]])
def test_each_vector_has_its_outcome(case: dict[str, str]) -> None:
    assert outcome_of(case["token"]) == case["outcome"]


def x402_outcome_of(token: str) -> str:
    try:
        claims = receipts.verify_x402(token, VECTORS["jwks"])
    except ReceiptError as error:
        return error.outcome
    except OtherModeError:
        return "test"
    return "x402-receipt" if "payer" in claims else "x402-offer"


@pytest.mark.parametrize("case", VECTORS["x402"], ids=[case["name"] for case in VECTORS["x402"]])
def test_each_offer_and_receipt_of_machines_has_its_outcome(case: dict[str, str]) -> None:
    assert x402_outcome_of(case["token"]) == case["outcome"]
    # None of them passes for a receipt of a checkout, or the other way round.
    assert outcome_of(case["token"]) == "unreadable"
    assert receipts.is_x402(case["token"]) is (case["outcome"] != "unreadable")


@pytest.mark.parametrize("case", VECTORS["cases"], ids=[case["name"] for case in VECTORS["cases"]])
def test_no_receipt_of_a_checkout_passes_for_one_of_machines(case: dict[str, str]) -> None:
    assert x402_outcome_of(case["token"]) == "unreadable"
    assert not receipts.is_x402(case["token"])


def test_an_offer_has_no_address_that_says_what_became_of_it() -> None:
    paid, asked = (case["token"] for case in VECTORS["x402"][:2])
    digest = sha256(paid.split(".")[1].encode()).hexdigest()
    assert receipts.x402_status_path(f"{paid}\n") == f"/receipts/eip155:8453/0x{'5a' * 32}/{digest}"
    for token in (asked, "no receipt"):
        with pytest.raises(ValueError, match="no "):
            receipts.x402_status_path(token)


@pytest.mark.parametrize("keys", [{}, {"keys": None}, {"keys": ["x", {}]}, []])
def test_keys_that_are_none_know_no_receipt(keys: Any) -> None:
    with pytest.raises(ReceiptError, match="The keys have no did:web"):
        receipts.verify(VECTORS["cases"][0]["token"], keys)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A genuine receipt and the keys, as files."""
    receipt, keys = tmp_path / "receipt.jws", tmp_path / "jwks.json"
    receipt.write_text(VECTORS["cases"][0]["token"])
    keys.write_text(json.dumps(VECTORS["jwks"]))
    return str(receipt), str(keys)


def test_the_program_prints_what_a_genuine_receipt_says_without_a_key_or_a_network(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    receipt, keys = files
    assert cli.main(["verify", receipt, "--jwks", keys]) == 0
    assert json.loads(capsys.readouterr().out)["merchant"]["name"] == "Kaffee Ä"


def test_the_program_refuses_another_one_and_says_why(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    receipt, keys = files
    assert cli.main(["verify", receipt, "--jwks", keys, "--test"]) == 1
    assert "of live mode" in capsys.readouterr().err
    changed = Path(receipt).read_text()
    Path(receipt).write_text(changed[:-20] + ("A" if changed[-20] != "A" else "B") + changed[-19:])
    assert cli.main(["verify", receipt, "--jwks", keys]) == 1
    assert "was changed" in capsys.readouterr().err
    assert cli.main(["verify", receipt, "--jwks", f"{keys}.missing"]) == 1


@pytest.mark.parametrize(("place", "said"), [(0, "this payer paid for"), (1, "proves no payment")])
def test_the_program_says_whether_a_machine_paid_or_was_only_asked(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], place: int, said: str
) -> None:
    receipt, keys = files
    Path(receipt).write_text(VECTORS["x402"][place]["token"])
    assert cli.main(["verify", receipt, "--jwks", keys]) == 0
    told = capsys.readouterr()
    assert said in told.err
    assert "did not check that it is the seller's" in told.err
    assert json.loads(told.out)["resourceUrl"] == "https://shop.example/report"
    # Of an offer nothing became.
    assert ("at /receipts/eip155:8453/0x5a" in told.err) is (place == 0)
    assert cli.main(["verify", receipt, "--jwks", keys, "--test"]) == 1


def test_without_the_extra_the_program_says_what_is_missing(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert cli.main(["verify", files[0], "--jwks", files[1]]) == 1
    assert "cryptography" in capsys.readouterr().err


@pytest.mark.django_db
def test_receipts_of_this_installation_are_genuine() -> None:
    live, test = (
        signed_receipt(with_brand(Checkout.objects.all()).get(pk=make_completed(mode=mode).pk), now=NOON)
        for mode in Mode
    )
    keys = jwks(now=NOON)
    said = [receipts.verify(token.decode(), keys, livemode=None) for token in (live, test)]
    assert said == [claims_of(live), claims_of(test)]


@pytest.mark.django_db
@pytest.mark.parametrize("purpose", KeyPurpose)
def test_offers_of_this_installation_are_genuine(purpose: KeyPurpose) -> None:
    told = {"version": 1, "resourceUrl": "https://shop.example/", "network": "eip155:8453", "payTo": "0x1"}
    token = sign_plain(told, purpose, now=NOON).token.decode()
    is_live = purpose == KeyPurpose.RECEIPT
    assert receipts.verify_x402(token, jwks(now=NOON), livemode=is_live) == told
    with pytest.raises(OtherModeError):
        receipts.verify_x402(token, jwks(now=NOON), livemode=not is_live)
