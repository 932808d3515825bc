"""Exact-amount options of `POST /checkouts/{id}/options`, and creation when a price has no amount left."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.states import Mode
from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.crowds import make_holders
from tests.checkouts.factories import EXACT_OFFERS
from tests.contract.client import ApiClient, client_of
from tests.contract.payments import BRING_TO, pay
from tests.factories import make_live_chain, make_merchant, make_wallet
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db

EXACT = [(chain, token) for chain, offer in EXACT_OFFERS.items() for token in offer["tokens"]]
FILLED = ("address", "payAmount", "paymentUri")
EVERY = range(1, 10_000)


def choose(client: ApiClient, checkout: dict[str, Any], chain: str, token: str) -> dict[str, Any]:
    path = f"/checkouts/{checkout['id']}/options"
    answer = client.post(path, {"chain": chain, "token": token})
    assert answer.status == 200, answer.body
    return dict(answer.body)


def offered(body: dict[str, Any]) -> list[str]:
    return [option["chain"] for option in body["available_chains"]]


@pytest.fixture
def exact_seller() -> ApiClient:
    """A live key of a merchant with wallets on Base and Ethereum, whose watchers are well."""
    merchant = make_merchant()
    for chain in ("base", "ethereum"):
        make_live_chain(chain)
        make_wallet(merchant, chain)
    return client_of(merchant, Mode.LIVE)


@pytest.mark.parametrize(("chain", "token"), EXACT)
def test_choosing_says_exactly_how_much_and_may_be_repeated(tester: ApiClient, chain: str, token: str) -> None:
    checkout = tester.created(amount="25")
    option = choose(tester, checkout, chain, token)
    assert option["address"] == chain_spec(chain).family.nobody
    whole, _, decimals = option["payAmount"].partition(".")
    assert (whole, len(decimals)) == ("25", 6)
    assert Decimal(25) < Decimal(option["payAmount"]) < Decimal("25.01")
    assert (option["paymentUri"] is None) == (chain == "tron")
    assert choose(tester, checkout, chain, token) == option
    assert AmountReservation.objects.count() == 1


def test_one_amount_is_for_all_exact_chains_and_tokens(tester: ApiClient) -> None:
    checkout = tester.created()
    amounts = {choose(tester, checkout, *option)["payAmount"] for option in EXACT}
    assert len(amounts) == 1
    assert choose(tester, checkout, "base", "USDC")["payAmount"] == "25.000000"


def test_links_carry_the_exact_amount_and_what_names_the_checkout(tester: ApiClient) -> None:
    checkout = tester.created(description="Two bags")
    uris = {chain: choose(tester, checkout, chain, token)["paymentUri"] for chain, token in EXACT}
    held = AmountReservation.objects.get()
    assert uris["ethereum"].endswith(f"uint256={25_000_000 + held.suffix}")
    assert f"amount=25.00{held.suffix:04}&" in uris["solana"]
    assert "reference=" in uris["solana"]
    assert uris["solana"].endswith("label=Halden%20Roasters&message=Two%20bags")
    assert uris["ton"].endswith(f"amount={25_000_000 + held.suffix}&text={held.memo}")


def test_a_choice_is_seen_when_the_creation_is_repeated(tester: ApiClient) -> None:
    order = {"order_ref": "order-1"}
    checkout = tester.created(**order)
    assert all(
        option[name] is None
        for option in checkout["available_chains"]
        if option["exactAmountRequired"]
        for name in FILLED
    )
    chosen = choose(tester, checkout, "solana", "USDC")
    again = tester.create(**order).body
    assert chosen in again["available_chains"]
    exact = [o for o in again["available_chains"] if o["exactAmountRequired"]]
    assert {option["payAmount"] for option in exact} == {chosen["payAmount"]}
    assert None not in {option["address"] for option in exact}


def test_an_underpaid_checkout_gets_a_fresh_amount_for_what_is_missing(exact_seller: ApiClient) -> None:
    checkout = exact_seller.created()
    first = choose(exact_seller, checkout, "ethereum", "USDC")
    pay(checkout["id"], 40)
    rest = choose(exact_seller, checkout, "ethereum", "USDC")
    assert Decimal(first["payAmount"]).quantize(Decimal(1)) == 25
    assert Decimal(15) < Decimal(rest["payAmount"]) < Decimal("15.01")
    assert AmountReservation.objects.filter(released_at=None).count() == 2


@pytest.mark.parametrize("status", ["completed", "expired", "processing"])
def test_a_checkout_that_takes_no_money_reserves_nothing(exact_seller: ApiClient, status: CheckoutStatus) -> None:
    checkout_id = exact_seller.created()["id"]
    BRING_TO[CheckoutStatus(status)](checkout_id)
    answer = exact_seller.post(f"/checkouts/{checkout_id}/options", {"chain": "ethereum", "token": "USDC"})
    assert answer.refusal == (409, "state_conflict", None)
    assert AmountReservation.objects.count() == 0


@pytest.fixture
def exhaust() -> Callable[[ApiClient], None]:
    """Use up every amount of 25 USD, and have somebody find that out."""

    def use_up(client: ApiClient) -> None:
        assert client.merchant is not None
        created = client.created()
        [row] = Checkout.objects.filter(public_id=created["id"])
        make_holders(client.merchant, EVERY, mode=Mode(row.mode))
        path = f"/checkouts/{created['id']}/options"
        answer = client.post(path, {"chain": "ethereum", "token": "USDC"})
        assert answer.refusal == (409, "capacity_exhausted", None)

    return use_up


def test_an_exhausted_price_is_refused_and_no_longer_offered(
    tester: ApiClient, exhaust: Callable[[ApiClient], None]
) -> None:
    exhaust(tester)
    assert offered(tester.created()) == ["base", "polygon"]
    assert len(offered(tester.created(amount="25.01"))) == 6
    assert len(offered(client_of(mode=Mode.TEST).created())) == 6


def test_with_nothing_else_to_offer_creation_says_why_and_repeats_are_answered(
    exhaust: Callable[[ApiClient], None],
) -> None:
    merchant = make_merchant()
    make_live_chain("ethereum")
    make_wallet(merchant, "ethereum")
    client = client_of(merchant, Mode.LIVE)
    known = client.created(order_ref="order-1")
    exhaust(client)
    assert client.create().refusal == (409, "capacity_exhausted", None)
    again = client.create(order_ref="order-1")
    assert (again.status, again.body["id"]) == (200, known["id"])


def test_creation_asks_the_database_nothing_about_exact_amounts(tester: ApiClient) -> None:
    tester.created()
    with CaptureQueriesContext(connection) as queries:
        tester.created()
    assert not any("amountreservation" in query["sql"] for query in queries)
