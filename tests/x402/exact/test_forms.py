"""Which bodies are the standard's, and what is wrong with others."""

import secrets
from typing import Any

import pytest

from accounts.states import Mode
from demo.localnet.authorizations import Authorization
from tests.contract.client import ApiClient, client_of
from tests.factories import USDC_ON_BASE
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import (
    settle,
    verify,
)
from wallets.models import ChainCursor
from x402.models import X402Payment

pytestmark = pytest.mark.django_db
PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def tester() -> ApiClient:
    """A test key."""
    return client_of(mode=Mode.TEST)


def told_to(client: ApiClient, **changes: Any) -> Authorization:
    """An authorisation that nobody signed, to where test payments go."""
    found: dict[str, Any] = {
        "payer": PAYER,
        "to": client.get("/x402/config").body["payTo"]["base"],
        "units": 10_000,
        "valid_after": 0,
        "valid_before": 2**40,
        "nonce": "0x" + secrets.token_hex(32),
        "signature": "0x" + "11" * 65,
    }
    return Authorization(**(found | changes))


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


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"scheme": "upto"}, "unsupported_scheme"),
        ({"network": "eip155:56"}, "invalid_network"),
        ({"network": "base"}, "invalid_network"),
        ({"amount": 10_000}, "invalid_payment_requirements"),
        ({"asset": PAYER}, "invalid_payment_requirements"),
        ({"payTo": "0x"}, "invalid_payment_requirements"),
        ({"payTo": PAYER}, "invalid_exact_evm_payload_recipient_mismatch"),
        (
            {"amount": "9999"},
            "invalid_exact_evm_payload_authorization_value_mismatch",
        ),
    ],
)
def test_requirements_are_read_strictly(
    tester: ApiClient, changes: dict[str, Any], reason: str
) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE, **changes)
    answer = verify(tester, body)
    assert (answer["isValid"], answer["invalidReason"]) == (False, reason)
    answer = settle(tester, body)
    assert (answer["success"], answer["errorReason"]) == (False, reason)
    assert isinstance(answer["network"], str)
    assert answer["transaction"] == ""


@pytest.mark.parametrize("amount", ["00.5", "0.5", "010000", "0", "1_0000", "1e4", ""])
@pytest.mark.parametrize("path", ["/x402/verify", "/x402/settle"])
def test_an_amount_that_is_no_whole_number_is_a_bad_request(
    tester: ApiClient, path: str, amount: str
) -> None:
    second = body_of(told_to(tester), USDC_ON_BASE, amount=amount)
    first = body_of(told_to(tester), USDC_ON_BASE, version=1, maxAmountRequired=amount)
    named = [(second, "amount"), (first, "maxAmountRequired")]
    for body, name in named:
        answer = tester.send("POST", path, body)
        assert (answer.status, answer.error["code"]) == (400, "amount_invalid")
        assert answer.error["param"] == f"paymentRequirements.{name}"


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
def test_an_authorisation_is_read_strictly(
    tester: ApiClient, changes: dict[str, Any]
) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE)
    told = told_to(tester, **changes)
    body["paymentPayload"]["payload"] = told.payload()
    assert verify(tester, body)["invalidReason"] == "invalid_payload"


@pytest.mark.parametrize("version", [0, 3, "2", True, None, 2.0])
def test_other_versions_are_told_so(tester: ApiClient, version: Any) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE) | {"x402Version": version}
    assert verify(tester, body)["invalidReason"] == "invalid_x402_version"
    assert settle(tester, body)["errorReason"] == "invalid_x402_version"


@pytest.mark.parametrize("path", ["/x402/verify", "/x402/settle"])
def test_both_protocols_at_once_are_refused(tester: ApiClient, path: str) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE) | {"payment": {}}
    answer = tester.send("POST", path, body)
    assert (answer.status, answer.error["param"]) == (400, "x402Version")


def test_neither_protocol_is_no_verification(tester: ApiClient) -> None:
    assert tester.send("POST", "/x402/verify", {}).status == 400


def test_what_is_supported_is_told_in_both_versions(tester: ApiClient) -> None:
    kinds = tester.get("/x402/supported").body["kinds"]
    assert {"x402Version": 1, "scheme": "exact", "network": "base"} in kinds
    assert {"x402Version": 2, "scheme": "exact", "network": "eip155:8453"} in kinds
    assert ApiClient().get("/x402/supported").status == 401


def test_without_a_gas_key_nothing_is_supported() -> None:
    assert client_of(mode=Mode.LIVE).get("/x402/supported").body["kinds"] == []


def test_a_chain_whose_forwarders_could_not_be_flushed_is_not_offered(
    usdc: str, seller: ApiClient
) -> None:
    """`/config` has no address there either."""
    ChainCursor.objects.update(factory_ok=False)
    assert seller.get("/x402/supported").body["kinds"] == []
    assert seller.get("/x402/config").body["networks"] == []


def test_a_gas_account_is_told_as_the_signer(usdc: str, seller: ApiClient) -> None:
    body = seller.get("/x402/supported").body
    assert [kind["network"] for kind in body["kinds"]] == ["eip155:8453", "base"]
    assert len(body["signers"]["eip155:*"]) == 1
