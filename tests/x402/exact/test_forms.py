"""Which bodies are the standard's, and what is wrong with others."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from localnet.authorizations import Authorization
from tests.contract.client import ApiClient
from tests.factories import USDC_ON_BASE
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from x402.models import X402Payment

pytestmark = pytest.mark.django_db
PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def told_to(client: ApiClient, **changes: Any) -> Authorization:
    """An authorisation that nobody signed, to where test payments go."""
    found: dict[str, Any] = {
        "payer": PAYER,
        "to": client.get("/x402/config").body["payTo"]["base"],
        "units": 10_000,
        "valid_after": 0,
        "valid_before": 2**40,
        # In test mode a nonce that begins with 0xfa11 fails.
        "nonce": "0x00" + secrets.token_hex(31),
        "signature": "0x" + "11" * 65,
    }
    return Authorization(**(found | changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"scheme": "deferred"}, "unsupported_scheme"),
        ({"network": "eip155:56"}, "invalid_network"),
        ({"network": "base"}, "invalid_network"),
        ({"amount": 10_000}, "invalid_payment_requirements"),
        ({"asset": PAYER}, "invalid_payment_requirements"),
        ({"payTo": "0x"}, "invalid_payment_requirements"),
        ({"payTo": PAYER}, "invalid_exact_evm_payload_recipient_mismatch"),
        ({"amount": "9999"}, "invalid_exact_evm_payload_authorization_value_mismatch"),
    ],
)
def test_requirements_are_read_strictly(tester: ApiClient, changes: dict[str, Any], reason: str) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE, **changes)
    answer = verify(tester, body)
    assert (answer["isValid"], answer["invalidReason"]) == (False, reason)
    answer = settle(tester, body)
    assert (answer["success"], answer["errorReason"]) == (False, reason)
    assert isinstance(answer["network"], str)
    assert answer["transaction"] == ""


@pytest.mark.parametrize("amount", ["00.5", "0.5", "010000", "0", "1_0000", "1e4", ""])
def test_an_amount_that_is_no_whole_number_is_refused_in_the_standards_form(tester: ApiClient, amount: str) -> None:
    second = body_of(told_to(tester), USDC_ON_BASE, amount=amount)
    first = body_of(told_to(tester), USDC_ON_BASE, version=1, maxAmountRequired=amount)
    for body in (first, second):
        told = check_refused(tester, body)
        assert told["errorReason"] == "invalid_payment_requirements"


MISSING: Any = object()
WRONG: tuple[Any, ...] = (
    *(MISSING, None, True, 7, -1, 0.01, 10**30, 2.5e300),
    *([], {}, [{}], {"a": []}, "", " ", "x", "é", "0x", "1_0", "x" * 5_000),
)
# What a payment may lack, or have in any form.
FREE = {
    "description",
    "mimeType",
    "maxTimeoutSeconds",
    "resource",
    "url",
    "validAfter",
    "version",
    "name",
    "extra",
    "x402Version",
    "nonce",
    "signature",
}


def check_refused(client: ApiClient, body: dict[str, Any]) -> dict[str, Any]:
    """Both answers, which have the fields that published clients want."""
    verified, settled = verify(client, body), settle(client, body)
    assert verified["isValid"] is settled["success"] is False
    assert verified["invalidReason"] == settled["errorReason"] != ""
    assert settled["transaction"] == ""
    assert isinstance(settled["network"], str)
    return settled


def spoiled(body: Any, wrong: Any) -> Iterator[tuple[str, Any]]:
    """The same body with one field after another wrong in one way."""
    for name, value in body.items():
        rest = {other: body[other] for other in body if other != name}
        yield name, rest if wrong is MISSING else rest | {name: wrong}
        if isinstance(value, dict):
            for inner, changed in spoiled(value, wrong):
                # As in the published library, other texts in what a payer accepted are the payer's own.
                is_free = name == "accepted" and isinstance(wrong, str)
                yield "extra" if is_free else inner, rest | {name: changed}


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
@pytest.mark.parametrize("version", [1, 2])
def test_a_body_with_any_field_wrong_in_any_way_is_refused_in_one_form(
    tester: ApiClient, version: int, wrong: Any
) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE, version=version)
    for name, other in spoiled(body, wrong):
        if name not in FREE:
            check_refused(tester, other)
        else:
            verify(tester, other)


@pytest.mark.parametrize("version", [3, 0, "1", "2", None, MISSING, True, [], {}, 1.5])
def test_a_body_of_no_version_is_refused_in_the_same_form(tester: ApiClient, version: Any) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE)
    del body["x402Version"]
    if version is not MISSING:
        body["x402Version"] = version
    assert check_refused(tester, body)["errorReason"] == "invalid_x402_version"


@pytest.mark.parametrize("path", ["/x402/verify", "/x402/settle"])
def test_both_protocols_at_once_are_refused(tester: ApiClient, path: str) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE) | {"payment": {}}
    answer = tester.send("POST", path, body)
    assert (answer.status, answer.error["param"]) == (400, "x402Version")


def test_neither_protocol_is_no_verification(tester: ApiClient) -> None:
    assert tester.send("POST", "/x402/verify", {}).status == 400


@pytest.mark.parametrize(
    "changes",
    [
        {"nonce": "0x12"},
        {"nonce": "0x" + "g" * 64},
        {"payer": "nobody"},
        {"units": "１０"},
        {"valid_before": 2**256},
        {"valid_after": -1},
    ],
)
def test_an_authorisation_is_read_strictly(tester: ApiClient, changes: dict[str, Any]) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE)
    told = told_to(tester, **changes)
    body["paymentPayload"]["payload"] = told.payload()
    assert verify(tester, body)["invalidReason"] == "invalid_payload"


def test_test_keys_settle_without_a_chain(tester: ApiClient) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE)
    assert verify(tester, body) == {"isValid": True, "payer": PAYER}
    answer = settle(tester, body)
    assert answer["success"]
    assert len(answer["transaction"]) == 66
    again = settle(tester, body)
    assert not again["success"]
    assert again["transaction"] == answer["transaction"]
    assert X402Payment.objects.get().tx_hash == answer["transaction"]


def test_a_test_fails_where_its_nonce_asks_for_it(tester: ApiClient) -> None:
    told = told_to(tester, nonce="0xfa11" + secrets.token_hex(30))
    body = body_of(told, USDC_ON_BASE, version=1)
    assert not verify(tester, body)["isValid"]
    assert settle(tester, body) == {
        "success": False,
        "errorReason": "invalid_exact_evm_insufficient_balance",
        "transaction": "",
        "network": "base",
        "payer": PAYER,
    }
