"""Payments with test keys touch no chain."""

import secrets

import pytest

from tests.contract.client import ApiClient
from tests.factories import USDC_ON_BASE
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.test_forms import PAYER, told_to
from x402.models import X402Payment

pytestmark = pytest.mark.django_db


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
