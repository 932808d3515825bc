"""Which bodies are the standard's, and what is wrong with others."""

import secrets
from typing import Any

import pytest

from demo.localnet.authorizations import Authorization
from tests.contract.client import ApiClient
from tests.factories import USDC_ON_BASE
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import (
    settle,
    verify,
)

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
