"""Payers' payloads on EVM chains are read strictly."""

from typing import Any

import pytest

from tests.contract.client import ApiClient
from tests.factories import USDC_ON_BASE
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import verify
from tests.x402.exact.test_forms import told_to

pytestmark = pytest.mark.django_db


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
