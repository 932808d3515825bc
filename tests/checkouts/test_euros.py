"""EURC pays checkouts on Base, where the operator says so: from the API to the page, webhook, receipt and refund; and what stays as it was."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.brand.facts import with_brand
from accounts.models import FeeEntry, Merchant
from accounts.states import Mode
from checkouts.creation.service import create_checkout
from checkouts.gas_free.rules import may_be_free
from checkouts.inbox.acceptances import accept_as_paid, apply_acceptances
from checkouts.inbox.successors import accept_late, late_units
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.inputs import NewCheckout
from checkouts.lifecycle.moves import expire
from checkouts.lifecycle.signed_receipts import signed_receipt
from checkouts.models import Checkout, InboxItem
from checkouts.options import payment_request
from checkouts.pricing import dues_of
from checkouts.states import CheckoutException, CheckoutStatus, InboxReason
from checkouts.states import TestScenario as Scenario
from checkouts.testmode import advance
from gateway.core.signing import claims_of
from greenfield.objects import method_objects
from payouts.approvals.service import approve_payout
from payouts.following.service import follow_movements
from payouts.lifecycle.sources import overpaid_rest
from payouts.models import Payout
from rates.models import Rate
from rates.selectors import forget as forget_rates
from tests.checkouts.euros import DUE, TAKEN, base_of, offer_euros, offered, paid
from tests.checkouts.page.test_views import page_of
from tests.checkouts.schema import alter
from tests.checkouts.watcher import Watcher, attribute, events_of, fresh, inbox_of, last_body, shown
from tests.contract.client import ApiClient
from tests.dashboard.people import Desk, make_desk, make_member
from tests.factories import make_checkout
from tests.payouts.factories import BUYER, outflow_for
from tests.rates.playing import store_rates
from wallets.models import Transfer
from wallets.networks import chain_spec
from wallets.selectors import forget
from wallets.transfers.movements import queue_movements

pytestmark = pytest.mark.django_db

EURC = "?chain=base&token=EURC"


@pytest.fixture
def europe(seller: ApiClient, settings: Any) -> ApiClient:
    """A live key of a merchant whose checkouts offer EURC on Base."""
    offer_euros(settings)
    return seller


def refund(shop: ApiClient, checkout: Checkout, **fields: Any) -> Any:
    return shop.post("/refunds", {"source": {"checkout": checkout.public_id}, "address": BUYER} | fields)


def sent_back(shop: ApiClient, checkout: Checkout, **fields: Any) -> Payout:
    """A refund that was approved and paid."""
    answer = refund(shop, checkout, **fields)
    assert answer.status == 201, answer.body
    payout, now = Payout.objects.select_related("merchant").get(public_id=answer.body["id"]), timezone.now()
    approve_payout(payout, revision=payout.revision, actor=Actor(make_member(payout.merchant)), now=now)
    queue_movements([outflow_for(payout, block_time=now).pk], now=now)
    follow_movements(now=now)
    return payout


# The walk.


def test_euros_pay_a_price_in_euros_from_the_api_to_the_refund(europe: ApiClient, client: Client) -> None:
    created = europe.created(amount="23.00", currency="EUR", order_ref="1001")
    option = base_of(created["available_chains"])
    assert (option["tokens"], option["payAmount"], option["due"]) == (
        ["USDC", "EURC"],
        "25.030000",
        {"EURC": "23.000000"},
    )
    due = created["dues"]["EURC"]
    assert (due["amount"], due["currency"], due["rate"]) == ("23.000000", "EUR", "1.088260")
    assert due["sources"] == created["quote"]["sources"]
    assert all("due" not in one for one in created["available_chains"] if one["chain"] != "base")
    chosen = europe.post(f"/checkouts/{created['id']}/options", {"chain": "base", "token": "EURC"}).body
    assert (chosen["payAmount"], chosen["due"]) == ("23.000000", {"EURC": "23.000000"})

    checkout = Checkout.objects.get(public_id=created["id"])
    page = page_of(client, checkout, EURC)
    assert "23.00<small>EUR</small>" in page
    assert "Send only EURC on Base" in page
    payment = client.get(f"/c/{checkout.code}{EURC}").context["page"].target.payment
    assert (payment.amount, payment.wallet.units, payment.wallet.is_free) == ("23.00", DUE, False)
    assert payment.wallet.token_contract == chain_spec("base").tokens["EURC"].address
    store_rates({"EUR": "1.3"})

    paid(checkout, DUE)
    assert events_of(checkout) == ["completed"]
    told = last_body(checkout)["data"]
    assert (told["amount_received"], told["amount_remaining"], told["exception"]) == ("25.030000", "0.000000", None)
    assert (told["payment"]["amount_crypto"], told["payment"]["crypto_currency"]) == ("23.000000", "EURC")
    assert [(one["token"], one["amount"]) for one in told["transfers"]] == [("EURC", "23.000000")]
    assert told["dues"] == created["dues"] == shown(checkout)["dues"]
    receipt = page_of(client, fresh(checkout), "/receipt")
    assert "23.00 EURC" in receipt

    payout = sent_back(europe, checkout)
    assert (payout.token, int(payout.units)) == ("EURC", DUE)
    assert shown(checkout)["amount_refunded"] == "25.030000"
    assert "23.00 EURC" in page_of(client, fresh(checkout), "/receipt")


def test_a_price_in_dollars_asks_for_as_many_euros_as_it_is_worth(europe: ApiClient, client: Client) -> None:
    checkout = offered(europe, "25.00", "USD")
    # 25 / 1.08826 is 22.97245.
    assert dues_of(checkout) == {"EURC": 22_980_000}
    page = page_of(client, checkout, EURC)
    assert "1 EUR = 1.0883 USD" in page
    assert "<bdi>kraken</bdi>" in page
    assert "<bdi>coinbase</bdi>" in page
    paid(checkout, 22_980_000)
    told = shown(checkout)
    assert (told["status"], told["amount_received"], told["exception"]) == ("completed", "25.000000", None)
    assert "quote" not in told
    receipt = page_of(client, fresh(checkout), "/receipt")
    assert ("22.98 EURC" in receipt, "1 EUR = 1.0883 USD" in receipt) == (True, True)


def test_a_price_in_yen_asks_for_euros_at_both_rates(europe: ApiClient) -> None:
    checkout = offered(europe, "1200", "JPY")
    assert checkout.amount == Decimal("8.01")
    # 8.01 / 1.08826 is 7.3604.
    assert dues_of(checkout) == {"EURC": 7_370_000}


def test_the_merchants_margin_is_for_what_is_converted(europe: ApiClient) -> None:
    Merchant.objects.update(rate_margin=Decimal("0.0150"))
    checkout = offered(europe)
    assert (checkout.amount, dues_of(checkout)) == (Decimal("25.41"), {"EURC": DUE})
    paid(checkout, DUE)
    assert shown(checkout)["amount_received"] == "25.410000"


def test_both_tokens_pay_one_checkout_each_at_its_fixed_worth(europe: ApiClient, client: Client) -> None:
    checkout = offered(europe)
    paid(checkout, 10_000_000, "USDC")
    store_rates({"EUR": "1.3"})
    assert "13.811027" in page_of(client, checkout, EURC)
    told = shown(checkout)
    assert (told["status"], told["amount_received"], told["amount_remaining"]) == (
        "underpaid",
        "10.000000",
        "15.030000",
    )
    paid(checkout, 13_811_027)
    told = shown(checkout)
    assert (told["status"], told["amount_received"], told["exception"]) == ("completed", "25.030000", None)
    assert (told["payment"]["amount_crypto"], told["payment"]["crypto_currency"]) == ("13.811027", "EURC")
    assert "25.03 USD" in page_of(client, fresh(checkout), "/receipt")


def test_a_part_in_euros_leaves_the_rest_in_each_token(europe: ApiClient, client: Client) -> None:
    checkout = offered(europe)
    paid(checkout, 10_000_000)
    told = shown(checkout)
    assert (told["amount_received"], told["amount_remaining"]) == ("10.882608", "14.147392")
    euros = page_of(client, checkout, EURC)
    assert ("10.00 EURC" in euros, "of 23.00" in euros, "<b>13.00 EURC</b>" in euros) == (True, True, True)
    assert "<b>14.147392 USDC</b>" in page_of(client, checkout, "?chain=base&token=USDC")
    paid(checkout, 13_000_000)
    assert shown(checkout)["amount_received"] == "25.030000"


@pytest.mark.parametrize(("less", "status"), [(0, "completed"), (1, "underpaid")])
def test_the_tolerance_is_of_the_worth(europe: ApiClient, less: int, status: str) -> None:
    checkout = offered(europe)
    # 24.7797 USD are enough: 22.77 EURC.
    paid(checkout, 22_770_000 - less)
    assert shown(checkout)["status"] == status


def test_too_many_euros_are_overpaid_and_go_back_as_euros(europe: ApiClient, client: Client) -> None:
    checkout = offered(europe)
    paid(checkout, 2 * DUE)
    checkout = fresh(checkout)
    assert (checkout.exception, overpaid_rest(checkout)) == (CheckoutException.OVERPAID, Decimal("25.03"))
    assert "23.00 EURC" in page_of(client, checkout)
    desk = make_desk(checkout.merchant)
    form = desk.get("dashboard_refund", checkout_id=checkout.public_id)
    assert (form.context["form"].initial["amount"], "Amount in EURC" in form.text) == ("23", True)
    assert refund(europe, checkout, amount="23.00").body["amount"] == "23.000000"
    assert overpaid_rest(fresh(checkout)) == 0


# Fixed.


def test_what_a_token_is_worth_in_a_checkout_never_changes(europe: ApiClient) -> None:
    checkout = offered(europe)
    for changes in ({"dues": None}, {"dues": {"EURC": {"units": 1}}}, {"amount": Decimal("25.04")}):
        with pytest.raises(IntegrityError, match="is never changed"), transaction.atomic():
            Checkout.objects.filter(pk=checkout.pk).update(**changes)
    other = make_checkout(checkout.merchant)
    with pytest.raises(IntegrityError, match="is never changed"), transaction.atomic():
        Checkout.objects.filter(pk=other.pk).update(dues={"EURC": {"units": 1}})


def test_without_the_trigger_a_euro_would_be_worth_more_to_the_checkout_that_it_paid(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, 1_000_000)
    assert shown(checkout)["status"] == "underpaid"
    alter("DROP TRIGGER checkout_dues_fixed ON checkouts_checkout")
    Checkout.objects.filter(pk=checkout.pk).update(dues={"EURC": (checkout.dues or {})["EURC"] | {"units": 1_000_000}})
    paid(checkout, 10_000)
    assert shown(checkout)["status"] == "completed"


@pytest.mark.parametrize(
    "dues", [{}, {"EURC": {}}, {"EURC": {"units": 0}}, {"EURC": {"units": 1.5}}, {"EURC": {"units": "5"}}]
)
def test_a_due_is_a_number_of_units(dues: Any) -> None:
    with pytest.raises(IntegrityError, match="more than zero"), transaction.atomic():
        make_checkout(dues=dues)


def test_without_the_trigger_a_checkout_could_ask_for_nothing() -> None:
    alter("DROP TRIGGER checkout_dues_possible ON checkouts_checkout")
    assert dues_of(make_checkout(dues={"EURC": {"units": 0}})) == {"EURC": 0}


def test_a_checkout_goes_on_once_the_token_is_taken_out_of_the_settings(europe: ApiClient, settings: Any) -> None:
    checkout = offered(europe)
    settings.CHAIN_SETTINGS = {key: value for key, value in settings.CHAIN_SETTINGS.items() if key not in TAKEN}
    settings.PRICE_CURRENCIES = []
    forget()
    assert "dues" not in europe.created()
    paid(checkout, DUE)
    assert shown(checkout)["status"] == "completed"


def test_a_repeat_gets_the_first_with_its_dues_whatever_the_rate_is(europe: ApiClient) -> None:
    first = europe.created(order_ref="1001")
    store_rates({"EUR": "1.2"})
    again = europe.create(order_ref="1001")
    assert (again.status, again.body["dues"]) == (200, first["dues"])
    Rate.objects.all().delete()
    third = europe.create(order_ref="1001")
    assert (third.status, third.body["dues"]) == (200, first["dues"])


# Where it is not offered.


def test_without_a_rate_a_price_in_dollars_goes_on_without_euros(europe: ApiClient) -> None:
    store_rates({"EUR": "1.2"}, source="coinbase")
    created = europe.created()
    assert (base_of(created["available_chains"])["tokens"], "dues" in created) == (["USDC"], False)
    assert europe.create(amount="23.00", currency="EUR").status == 503


def test_a_checkout_that_lasts_longer_than_a_rate_is_held_offers_no_euros(europe: ApiClient) -> None:
    assert "dues" in europe.created(expires_in=3600)
    assert "dues" not in europe.created(expires_in=3601)


def test_where_only_machines_pay_in_euros_nothing_changes(seller: ApiClient, settings: Any) -> None:
    def asked() -> tuple[dict[str, Any], int]:
        seller.create()  # fills the caches
        with CaptureQueriesContext(connection) as captured:
            answer = seller.create()
        return answer.body, len(captured)

    before, queries = asked()
    offer_euros(settings)
    settings.CHAIN_SETTINGS = {k: v for k, v in settings.CHAIN_SETTINGS.items() if k != "BASE_CHECKOUT_TOKENS"}
    forget()
    after, more = asked()
    own = {"id", "checkout_url", "expires_at", "created_at", "available_chains"}
    assert {k: v for k, v in after.items() if k not in own} == {k: v for k, v in before.items() if k not in own}
    assert (list(after), more) == (list(before), queries)
    addressed = {"address", "paymentUri"}
    for was, now in zip(before["available_chains"], after["available_chains"], strict=True):
        assert list(was) == list(now)
        assert {k: v for k, v in was.items() if k not in addressed} == {
            k: v for k, v in now.items() if k not in addressed
        }

    checkout = Checkout.objects.get(public_id=after["id"])
    paid(checkout, 25_000_000)
    assert (inbox_of(checkout), shown(checkout)["amount_received"]) == (["wrong_token"], "0.000000")


def test_dollars_ask_for_the_rate_once_in_some_seconds_where_euros_are_offered(
    seller: ApiClient, settings: Any
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            seller.created()
        return len(captured)

    seller.created()  # fills the caches
    before = queries()
    offer_euros(settings)
    seller.created()
    assert "dues" in seller.created()
    assert queries() == before


def test_other_euros_are_worth_nothing(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, DUE, "EURT")
    assert (inbox_of(checkout), shown(checkout)["amount_received"]) == (["wrong_token"], "0.000000")


def test_euros_on_another_network_are_no_token_of_the_checkout(europe: ApiClient) -> None:
    checkout, now, watcher = offered(europe), timezone.now(), Watcher("polygon")
    watcher.sees(checkout, DUE, at=now, token="EURC")
    watcher.confirms(now=now)
    attribute(now=now)
    assert (inbox_of(checkout), shown(checkout)["amount_received"]) == (["wrong_token"], "0.000000")


# Late, renewed, reversed.


def ended(checkout: Checkout) -> Checkout:
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=timezone.now() + timedelta(hours=2))
    return Checkout.objects.select_related("merchant").get(pk=checkout.pk)


def late(checkout: Checkout, units: int, token: str = "EURC") -> InboxItem:
    later, watcher = timezone.now() + timedelta(hours=3), Watcher(height=500 + Transfer.objects.count())
    transfer = watcher.sees(checkout, units, at=later, token=token)
    watcher.confirms(transfer, now=later)
    attribute(now=later)
    return InboxItem.objects.get(transfer=transfer, reason=InboxReason.LATE)


def test_late_euros_complete_a_successor_at_the_worth_that_they_had(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, 10_000_000, "USDC")
    checkout = ended(checkout)
    store_rates({"EUR": "1.3"})
    item = late(checkout, 13_811_027)
    assert late_units(item) == 25_030_000
    desk = make_desk(checkout.merchant)
    page = desk.get("dashboard_inbox_item", item_id=item.pk).text
    assert "13.811027 EURC" in page
    assert "Accept late payment" in page
    with transaction.atomic():
        successor = accept_late(item, now=timezone.now() + timedelta(hours=3))
    told = shown(successor)
    assert (told["status"], told["amount_received"], told["dues"]) == (
        "completed",
        "25.030000",
        shown(checkout)["dues"],
    )


def test_late_euros_that_are_too_few_are_said_in_dollars(europe: ApiClient) -> None:
    checkout = ended(offered(europe))
    item = late(checkout, 11_500_000)
    page = make_desk(checkout.merchant).get("dashboard_inbox_item", item_id=item.pk).text
    assert "12.515 USD is missing" in page


def test_a_renewal_asks_for_euros_at_the_rate_of_then(europe: ApiClient, client: Client) -> None:
    Merchant.objects.update(buyers_may_retry=True)
    checkout = ended(offered(europe, "25.00", "USD"))
    store_rates({"EUR": "1.25"})
    forget_rates()
    answer = client.post(f"/c/{checkout.code}/again")
    renewed = Checkout.objects.get(code=answer["Location"].removeprefix("/c/"))
    assert (dues_of(checkout), dues_of(renewed)) == ({"EURC": 22_980_000}, {"EURC": 20_000_000})


def test_euros_that_a_reorg_took_are_missed_at_their_worth(europe: ApiClient) -> None:
    checkout, now = offered(europe), timezone.now()
    paid(checkout, 10_000_000, "USDC")
    transfer = paid(checkout, 13_811_027)
    Watcher().loses(transfer, now=now)
    attribute(now=now)
    told = shown(checkout)
    assert (told["status"], told["exception"], told["amount_received"]) == ("completed", "reversed", "10.000000")


# Refunds, fees, reports.


def test_a_refund_in_a_currency_is_of_the_worth_in_the_checkout(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, DUE)
    store_rates({"EUR": "1.3"})
    assert refund(europe, checkout, amount="10.00", currency="EUR", reference="a").body["amount"] == "10.000000"
    # 2.503 USD are a tenth.
    assert refund(europe, checkout, amount="2.503", currency="USD", reference="b").body["amount"] == "2.300000"
    again = refund(europe, checkout, amount="10.00", currency="EUR", reference="a")
    assert (again.status, again.body["amount"]) == (200, "10.000000")
    assert refund(europe, checkout, amount="9.00", currency="EUR", reference="a").code == "duplicate"
    assert refund(europe, checkout).body["amount"] == "10.700000"


@pytest.mark.parametrize("amount", ["0", "1" + "0" * 15 + ".000001", "9" * 150])
@pytest.mark.parametrize("currency", ["USD", "EUR", None])
def test_a_refund_of_any_number_of_digits_is_out_of_range(europe: ApiClient, amount: str, currency: str | None) -> None:
    checkout = offered(europe)
    paid(checkout, DUE)
    answer = refund(europe, checkout, amount=amount, currency=currency)
    assert answer.refusal == (400, "amount_out_of_range", "amount")


def test_what_both_tokens_paid_goes_back_dollars_first(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, 10_000_000, "USDC")
    paid(checkout, 13_811_027)
    first, second = sent_back(europe, checkout), sent_back(europe, checkout)
    assert [(one.token, int(one.units)) for one in (first, second)] == [("USDC", 10_000_000), ("EURC", 13_811_027)]
    assert shown(checkout)["amount_refunded"] == "25.030000"
    assert refund(europe, checkout).code == "amount_not_refundable"


def test_a_fee_is_of_the_worth(europe: ApiClient, settings: Any) -> None:
    settings.CHARGE_FEES = True
    checkout = offered(europe)
    paid(checkout, DUE)
    fee = FeeEntry.objects.get()
    assert (fee.token, fee.received) == ("EURC", Decimal("25.03"))


def test_reports_have_euros_in_their_own_units_and_at_their_worth(europe: ApiClient) -> None:
    paid(offered(europe, order_ref="1001"), DUE)
    store_rates({"EUR": "1.3"})
    [row] = europe.get("/reports/transactions").body["data"]
    assert (row["token"], row["amount"], row["usd_value"], row["price"]) == ("EURC", "23.000000", "25.030000", "23.00")
    body = europe.get("/reports/summary").body
    assert (body["inflow"], body["counts"]["credited"]) == ("25.030000", 1)
    assert [(part["chain"], part["token"], part["inflow"]) for part in body["by_chain"]] == [
        ("base", "EURC", "25.030000")
    ]
    assert [day["inflow"] for day in body["by_day"]] == ["25.030000"]


def test_accepted_short_euros_complete_at_their_worth(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, 11_500_000)
    desk = make_desk(checkout.merchant)
    assert "12.515 of 25.03 USD" in desk.get("dashboard_checkout", checkout_id=checkout.public_id).text
    now = timezone.now()
    accept_as_paid(checkout, amount=Decimal("12.515"), now=now, actor=Actor(make_member(checkout.merchant)))
    assert apply_acceptances(now=now + UNDO_SPAN) == 1
    checkout = fresh(checkout)
    assert (checkout.status, checkout.accepted_amount) == (CheckoutStatus.COMPLETED, Decimal("12.515"))


def test_buyers_are_told_of_euros_that_came_for_a_paid_checkout(europe: ApiClient, client: Client) -> None:
    checkout = offered(europe)
    paid(checkout, DUE)
    paid(checkout, DUE)
    assert inbox_of(checkout) == ["extra"]
    assert "23.00 EURC" in page_of(client, fresh(checkout))
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_the_network_lists_euros_once_checkouts_offer_them(europe: ApiClient, settings: Any) -> None:
    base = base_of(chains_of(europe))
    assert (base["tokens"], list(base["tokenContracts"])) == (["USDC", "EURC"], ["USDC", "EURC"])
    settings.CHAIN_SETTINGS = {k: v for k, v in settings.CHAIN_SETTINGS.items() if k != "BASE_CHECKOUT_TOKENS"}
    assert base_of(chains_of(europe))["tokens"] == ["USDC"]


def chains_of(shop: ApiClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop.get("/chains").body["data"]
    return found


def test_a_member_sees_what_came(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, DUE)
    desk: Desk = make_desk(checkout.merchant)
    text = desk.get("dashboard_checkout", checkout_id=checkout.public_id).text
    assert ("Price in EURC" in text, "EURC: 1 EUR by coinbase" in text) == (True, True)
    assert ("23.00 EURC" in text, "25.03 received of 25.03" in text) == (True, True)


# Elsewhere.


def test_our_gas_account_pays_for_the_chains_own_token_alone(
    europe: ApiClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GAS_FREE = ["base"]
    monkeypatch.setattr("checkouts.gas_free.rules.gas_keys", lambda: ["a key"])
    checkout, base = offered(europe), chain_spec("base")
    assert base.tokens["EURC"].domain is not None
    requests = {token: payment_request(checkout, base, token, reserved=None) for token in ("USDC", "EURC")}
    free = {token: one is not None and may_be_free(one, is_allowed=True) for token, one in requests.items()}
    assert free == {"USDC": True, "EURC": False}


def test_shop_plugins_read_euros_in_their_own_units(europe: ApiClient) -> None:
    def told(token: str) -> dict[str, Any]:
        methods = method_objects(shown(checkout), checkout.offers)
        [found] = [one for one in methods if (one["currency"], one["paymentMethodId"][-4:]) == (token, "BASE")]
        return found

    checkout = offered(europe)
    euros, dollars = told("EURC"), told("USDC")
    assert (euros["rate"], euros["amount"], euros["due"], euros["totalPaid"]) == (
        "1.00000000",
        "23.000000",
        "23.000000",
        "0.000000",
    )
    assert (dollars["amount"], dollars["due"]) == ("25.030000", "25.030000")
    paid(checkout, 10_000_000)
    euros = told("EURC")
    assert (euros["paymentMethodPaid"], euros["totalPaid"], euros["due"]) == ("10.000000", "10.000000", "13.000000")
    paid(checkout, 13_000_000)
    euros = told("EURC")
    assert (euros["totalPaid"], euros["due"]) == ("23.000000", "0.000000")


def test_a_signed_receipt_says_what_a_euro_was(europe: ApiClient, settings: Any) -> None:
    settings.BASE_URL = "https://pay.example"
    checkout = offered(europe)
    paid(checkout, DUE)
    held = with_brand(Checkout.objects.all()).get(pk=checkout.pk)
    claims = claims_of(signed_receipt(held, now=timezone.now()))
    assert claims["dues"] == {"EURC": {"amount": "23.000000", "rate": "1.088260"}}
    assert [one["amount"] for one in claims["received"]] == ["23.000000"]
    plain = offered(europe, "25.00", "USD", expires_in=3601)
    paid(plain, 25_000_000, "USDC")
    held = with_brand(Checkout.objects.all()).get(pk=plain.pk)
    assert "dues" not in claims_of(signed_receipt(held, now=timezone.now()))


def test_simulated_money_is_dollars(seller: ApiClient, settings: Any) -> None:
    offer_euros(settings)
    merchant = seller.merchant
    assert merchant
    wanted = NewCheckout(
        amount=Decimal("25.00"),
        currency="USD",
        description="",
        metadata="{}",
        customer_email="",
        redirect_url="",
        webhook_url="",
        expires_in=1800,
        customer_ref="",
        product_ref="",
        order_ref="",
        test_scenario=Scenario.COMPLETED,
    )
    row = create_checkout(merchant.pk, Mode.TEST, wanted, now=timezone.now()).row
    assert row.offers["base"]["tokens"] == ["USDC", "EURC"]
    advance(row, 3, now=timezone.now())
    told = shown(Checkout.objects.get(pk=row.id))
    assert (told["status"], told["payment"]["crypto_currency"]) == ("completed", "USDC")
