"""One settle of an authorisation is answered `success`; its Idempotency-Key gets that answer again, and nobody else does."""

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from settlements.models import GasTransaction
from tests.concurrency.races import together
from tests.contract.client import ApiClient, client_of
from tests.factories import make_merchant
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.payers import pay_to_of
from x402.exact.facilitator import request_of
from x402.exact.inputs import Executed
from x402.exact.records import settle_row
from x402.models import Authorization, X402Payment
from x402.payments.claims import KEPT
from x402.states import AuthorizationState

UNITS = 10_000
USED = "invalid_exact_evm_nonce_already_used"

Body = dict[str, Any]


@pytest.mark.django_db
@pytest.mark.parametrize(("first", "then"), [("one", "other"), ("one", ""), ("", "other"), ("", "")])
def test_what_one_key_settled_is_used_for_another(
    exact_seller: ApiClient, signed_body: Body, first: str, then: str
) -> None:
    answer = settle(exact_seller, signed_body, key=first)
    assert answer["success"], answer
    refused = settle(exact_seller, signed_body, key=then)
    assert (refused["success"], refused["errorReason"]) == (False, USED)
    assert refused["transaction"] == answer["transaction"]
    assert (settle(exact_seller, signed_body, key=first) == answer) is bool(first)
    assert X402Payment.objects.count() == GasTransaction.objects.count() == 1


@pytest.mark.django_db
def test_an_answer_is_repeated_to_its_key_for_seven_days(exact_seller: ApiClient, signed_body: Body) -> None:
    answer = settle(exact_seller, signed_body, key="one")
    a_little = timedelta(seconds=30)
    asked_at = timezone.now() - KEPT
    Authorization.objects.update(served_at=asked_at + a_little)
    assert settle(exact_seller, signed_body, key="one") == answer
    Authorization.objects.update(served_at=asked_at - a_little)
    assert settle(exact_seller, signed_body, key="one")["errorReason"] == USED


@pytest.mark.django_db
def test_what_was_settled_and_answered_to_nobody_verifies_and_is_served_once(
    exact_seller: ApiClient, signed_body: Body
) -> None:
    answer = settle(exact_seller, signed_body)
    # As where the process died before it could answer.
    Authorization.objects.update(served_at=None)
    assert verify(exact_seller, signed_body)["isValid"]
    other = json.loads(json.dumps(signed_body))
    other["paymentPayload"]["resource"]["url"] += "/other"
    assert verify(exact_seller, other)["invalidReason"] == USED
    assert settle(exact_seller, other)["errorReason"] == USED
    assert settle(exact_seller, signed_body) == answer
    assert verify(exact_seller, signed_body)["invalidReason"] == USED
    assert settle(exact_seller, signed_body)["errorReason"] == USED


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "one"])
def test_a_test_key_is_answered_as_a_live_one(base_node: Anvil, usdc: str, key: str) -> None:
    for _ in range(2):
        # A simulated payment is each merchant's own.
        tester = client_of(make_merchant(), Mode.TEST)
        # Some nonces are meant to fail in test mode.
        nonce = "0x00" + secrets.token_hex(31)
        signed = authorize(base_node, pay_to_of(tester), UNITS, nonce=nonce)
        body = body_of(signed, usdc)
        answer = settle(tester, body, key=key)
        assert answer["success"], answer
        assert verify(tester, body)["invalidReason"] == USED
        assert settle(tester, body)["errorReason"] == USED
        assert settle(tester, body)["transaction"] == answer["transaction"]
        assert (settle(tester, body, key=key) == answer) is bool(key)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_bells")
@pytest.mark.parametrize(
    ("key_of", "served"),
    [(str, 1), (lambda _: "the same", 8), (lambda _: "", 1)],
    ids=["a key each", "one key", "no keys"],
)
def test_of_eight_requests_at_once_those_of_one_key_are_told_that_it_settled(
    exact_seller: ApiClient, signed_body: Body, key_of: Callable[[int], str], served: int
) -> None:
    asked = [partial(settle, exact_seller, signed_body, key=key_of(number)) for number in range(8)]
    answers = together(*asked)
    settled = [one for one in answers if one["success"]]
    assert len(settled) == served, answers
    assert all(one == settled[0] for one in settled)
    refused = [one["errorReason"] for one in answers if not one["success"]]
    assert refused == [USED] * (8 - served)
    assert GasTransaction.objects.count() == 1


@pytest.mark.django_db
def test_what_a_dead_process_never_sent_another_key_may_have(
    exact_seller: ApiClient, signed_body: Body, settings: Any
) -> None:
    """Nothing was paid, so the payer's next try must not find the payment used."""
    settings.GAS_DAILY_COINS = {"base": "0.0000001"}
    assert settle(exact_seller, signed_body, key="one")["errorReason"] == "unexpected_settle_error"
    assert Authorization.objects.get().state == AuthorizationState.TAKEN
    settings.GAS_DAILY_COINS = {"base": "100"}
    assert settle(exact_seller, signed_body, key="other")["success"]
    assert settle(exact_seller, signed_body, key="one")["errorReason"] == USED


@pytest.mark.django_db
def test_who_lost_the_payment_to_another_resource_while_it_slept_is_not_told_that_it_settled(
    exact_seller: ApiClient, signed_body: Body, settings: Any
) -> None:
    settings.GAS_DAILY_COINS = {"base": "0.0000001"}
    settle(exact_seller, signed_body)
    row = Authorization.objects.get()
    request = replace(request_of(row), resource=f"{row.resource}/other")
    executed = Executed("0x" + "5a" * 32, position=0, height=1)
    told = settle_row(row, request, executed, now=timezone.now())
    assert told["errorReason"] == USED
    assert X402Payment.objects.get().tx_hash == executed.tx_hash
    assert settle(exact_seller, signed_body)["transaction"] == executed.tx_hash


@pytest.mark.django_db
def test_a_key_that_is_no_text_is_refused(exact_seller: ApiClient, signed_body: Body) -> None:
    answer = exact_seller.send("POST", "/x402/settle", signed_body, HTTP_IDEMPOTENCY_KEY="k" * 256)
    assert (answer.status, answer.error["param"]) == (400, "Idempotency-Key")


@pytest.mark.django_db
def test_a_repetition_in_version_1_is_answered_in_version_1(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    second = settle(exact_seller, body_of(told, usdc), key="one")
    assert (second["network"], second["amount"]) == ("eip155:8453", str(UNITS))
    first = settle(exact_seller, body_of(told, usdc, version=1), key="one")
    assert first["success"], first
    assert first["network"] == "base"
    assert "amount" not in first
    failed = settle(exact_seller, body_of(told, usdc, version=1), key="other")
    assert (failed["errorReason"], failed["network"]) == (USED, "base")
