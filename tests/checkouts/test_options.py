"""The chain options of a checkout, chosen through the API."""

from typing import Any

import pytest

from checkouts.states import CheckoutStatus
from tests.contract.client import ApiClient
from tests.contract.payments import BRING_TO, pay
from tests.contract.test_create import OPTION_FIELDS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


@pytest.mark.parametrize(("chain", "token"), [("base", "USDC"), ("polygon", "USDC"), ("polygon", "USDT")])
def test_choosing_an_option_fills_it_and_may_be_repeated(tester: ApiClient, chain: str, token: str) -> None:
    checkout = tester.created()
    path = f"/checkouts/{checkout['id']}/options"
    first = tester.post(path, {"chain": chain, "token": token})
    assert first.status == 200
    assert set(first.body) == OPTION_FIELDS
    assert first.body["chain"] == chain
    assert first.body["payAmount"] == "25.000000"
    assert first.body["address"] == next(
        option["address"] for option in checkout["available_chains"] if option["chain"] == chain
    )
    assert tester.post(path, {"chain": chain, "token": token}).body == first.body


@pytest.mark.parametrize(
    ("choice", "code", "param"),
    [
        ({}, "parameter_missing", "chain"),
        ({"chain": "base"}, "parameter_missing", "token"),
        ({"token": "USDC"}, "parameter_missing", "chain"),
        ({"chain": None, "token": "USDC"}, "parameter_missing", "chain"),
        ({"chain": "bitcoin", "token": "USDC"}, "chain_unsupported", "chain"),
        ({"chain": "Base", "token": "USDC"}, "chain_unsupported", "chain"),
        ({"chain": "base", "token": "USDT"}, "token_unsupported", "token"),
        ({"chain": "base", "token": "usdc"}, "token_unsupported", "token"),
        ({"chain": ["base"], "token": "USDC"}, "parameter_invalid", "chain"),
        ({"chain": "base", "token": {"a": 1}}, "parameter_invalid", "token"),
        ({"chain": "base", "token": 1.5}, "parameter_invalid", "token"),
        ({"chain": "b" * 99, "token": "USDC"}, "parameter_too_long", "chain"),
    ],
)
def test_other_choices_are_refused(tester: ApiClient, choice: dict[str, Any], code: str, param: str) -> None:
    path = f"/checkouts/{tester.created()['id']}/options"
    assert tester.post(path, choice).refusal == (400, code, param)


def test_a_chain_that_was_not_offered_cannot_be_chosen(seller: ApiClient) -> None:
    path = f"/checkouts/{seller.created()['id']}/options"
    answer = seller.post(path, {"chain": "ethereum", "token": "USDC"})
    assert answer.refusal == (400, "chain_unsupported", "chain")


@pytest.mark.parametrize("status", ["completed", "expired", "processing"])
def test_a_checkout_that_takes_no_money_takes_no_choice(seller: ApiClient, status: CheckoutStatus) -> None:
    checkout_id = seller.created()["id"]
    BRING_TO[CheckoutStatus(status)](checkout_id)
    answer = seller.post(f"/checkouts/{checkout_id}/options", {"chain": "base", "token": "USDC"})
    assert answer.refusal == (409, "state_conflict", None)


def test_an_underpaid_checkout_asks_for_the_rest(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 40)
    answer = seller.post(f"/checkouts/{checkout_id}/options", {"chain": "base", "token": "USDC"})
    assert answer.body["payAmount"] == "15.000000"
    assert answer.body["paymentUri"].endswith("uint256=15000000")
