"""GET /checkouts/{id} and POST /checkouts/{id}/options."""

from datetime import datetime
from typing import Any

import pytest

from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.contract.client import ApiClient
from tests.contract.payments import BRING_TO, expire, pay
from tests.contract.test_create import ADDED_FIELDS, OPTION_FIELDS, SPEC_FIELDS
from wallets.models import ChainCursor

pytestmark = pytest.mark.django_db


def read(client: ApiClient, checkout_id: str) -> dict[str, Any]:
    answer = client.get(f"/checkouts/{checkout_id}")
    assert answer.status == 200
    found: dict[str, Any] = answer.body
    return found


def test_a_new_checkout_reads_as_it_was_created(tester: ApiClient) -> None:
    created = tester.created(
        description="Tea", order_ref="o", metadata={"b": 1, "a": 2}
    )
    del created["available_chains"]
    assert read(tester, created["id"]) == created
    assert set(created) == SPEC_FIELDS | ADDED_FIELDS


@pytest.mark.parametrize("status", CheckoutStatus)
def test_payment_is_null_exactly_while_pending_or_expired(
    seller: ApiClient, status: CheckoutStatus
) -> None:
    checkout_id = seller.created()["id"]
    BRING_TO[status](checkout_id)
    body = read(seller, checkout_id)
    assert body["status"] == status
    assert (body["payment"] is None) is (status in {"pending", "expired"})


def test_a_part_paid_checkout_that_expires_shows_no_payment_and_keeps_its_transfer(
    seller: ApiClient,
) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 50)
    expire(checkout_id)
    body = read(seller, checkout_id)
    assert (body["status"], body["payment"]) == ("expired", None)
    assert [transfer["amount"] for transfer in body["transfers"]] == ["12.500000"]
    assert body["amount_received"] == "12.500000"


def test_a_completed_checkout_shows_its_payment(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    transfer = pay(checkout_id)
    body = read(seller, checkout_id)
    assert body["payment"] == {
        "amount_crypto": "25.000000",
        "crypto_currency": "USDC",
        "network": "base",
        "tx_hash": transfer.tx_hash,
        "sender_address": transfer.sender,
        "confirmed_at": body["transfers"][0]["confirmed_at"],
    }
    assert datetime.fromisoformat(body["payment"]["confirmed_at"]).tzinfo is not None
    assert body["paid_at"] is not None
    assert (body["amount_received"], body["amount_remaining"]) == (
        "25.000000",
        "0.000000",
    )


def test_a_payment_that_is_not_final_has_no_confirmation_time(
    seller: ApiClient,
) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, final=False)
    ChainCursor.objects.filter(chain="base").update(head=104)
    body = read(seller, checkout_id)
    assert body["payment"]["confirmed_at"] is None
    [transfer] = body["transfers"]
    assert set(transfer) == {
        "chain",
        "token",
        "amount",
        "tx_hash",
        "position",
        "sender_address",
        "confirmations",
        "required_confirmations",
        "status",
        "detected_at",
        "confirmed_at",
    }
    assert transfer["status"] == "detected"
    assert (transfer["confirmations"], transfer["required_confirmations"]) == (5, 12)


def test_several_transfers_add_up_and_the_completing_one_is_shown(
    seller: ApiClient,
) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 40)
    short = read(seller, checkout_id)
    assert (short["status"], short["exception"]) == ("underpaid", "underpaid")
    assert short["amount_remaining"] == "15.000000"
    last = pay(checkout_id, 60, chain="polygon", token="USDT")
    body = read(seller, checkout_id)
    assert (body["status"], body["exception"]) == ("completed", None)
    assert body["payment"]["amount_crypto"] == "25.000000"
    assert body["payment"]["network"] == "polygon"
    assert body["payment"]["crypto_currency"] == "USDT"
    assert body["payment"]["tx_hash"] == last.tx_hash
    assert len(body["transfers"]) == 2


@pytest.mark.parametrize(
    ("share", "status", "exception"),
    [
        (98, "underpaid", "underpaid"),
        (99, "completed", None),
        (101, "completed", None),
        (102, "completed", "overpaid"),
    ],
)
def test_the_tolerance_is_one_per_cent_of_larger_prices(
    seller: ApiClient, share: int, status: str, exception: str | None
) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, share)
    body = read(seller, checkout_id)
    assert (body["status"], body["exception"]) == (status, exception)


@pytest.mark.parametrize(
    "checkout_id", ["chk_test_", "chk_live_nobody", "x", "é", "%ff"]
)
def test_an_unknown_id_is_404(tester: ApiClient, checkout_id: str) -> None:
    answer = tester.get(f"/checkouts/{checkout_id}")
    assert answer.refusal == (404, "resource_missing", "checkout_id")


def test_head_answers_like_get_without_a_body(tester: ApiClient) -> None:
    path = f"/checkouts/{tester.created()['id']}"
    answer = tester.send("HEAD", path)
    assert (answer.status, answer.raw) == (200, b"")
    assert answer.headers["X-RateLimit-Limit"] == "120"


@pytest.mark.parametrize(
    ("chain", "token"), [("base", "USDC"), ("polygon", "USDC"), ("polygon", "USDT")]
)
def test_choosing_an_option_fills_it_and_may_be_repeated(
    tester: ApiClient, chain: str, token: str
) -> None:
    checkout = tester.created()
    path = f"/checkouts/{checkout['id']}/options"
    first = tester.post(path, {"chain": chain, "token": token})
    assert first.status == 200
    assert set(first.body) == OPTION_FIELDS
    assert first.body["chain"] == chain
    assert first.body["payAmount"] == "25.000000"
    assert first.body["address"] == next(
        option["address"]
        for option in checkout["available_chains"]
        if option["chain"] == chain
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
def test_other_choices_are_refused(
    tester: ApiClient, choice: dict[str, Any], code: str, param: str
) -> None:
    path = f"/checkouts/{tester.created()['id']}/options"
    assert tester.post(path, choice).refusal == (400, code, param)


def test_a_chain_that_was_not_offered_cannot_be_chosen(seller: ApiClient) -> None:
    path = f"/checkouts/{seller.created()['id']}/options"
    answer = seller.post(path, {"chain": "ethereum", "token": "USDC"})
    assert answer.refusal == (400, "chain_unsupported", "chain")


@pytest.mark.parametrize("status", ["completed", "expired", "processing"])
def test_a_checkout_that_takes_no_money_takes_no_choice(
    seller: ApiClient, status: CheckoutStatus
) -> None:
    checkout_id = seller.created()["id"]
    BRING_TO[CheckoutStatus(status)](checkout_id)
    answer = seller.post(
        f"/checkouts/{checkout_id}/options", {"chain": "base", "token": "USDC"}
    )
    assert answer.refusal == (409, "state_conflict", None)


def test_an_underpaid_checkout_asks_for_the_rest(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 40)
    answer = seller.post(
        f"/checkouts/{checkout_id}/options", {"chain": "base", "token": "USDC"}
    )
    assert answer.body["payAmount"] == "15.000000"
    assert answer.body["paymentUri"].endswith("uint256=15000000")


def test_a_repeated_creation_shows_the_checkout_as_it_is_now(seller: ApiClient) -> None:
    checkout_id = seller.created(order_ref="order-1")["id"]
    pay(checkout_id)
    again = seller.create(order_ref="order-1")
    assert (again.status, again.body["id"]) == (200, checkout_id)
    now = read(seller, checkout_id)
    assert {name: again.body[name] for name in now} == now
    assert Checkout.objects.count() == 1
