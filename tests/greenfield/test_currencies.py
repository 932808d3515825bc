"""Shops that price in euros: one quote for an order, and amounts in the order's currency or in tokens, as plugins read them."""

from decimal import Decimal
from typing import Any

import pytest

from checkouts.models import Checkout
from payouts.models import Payout
from tests.checkouts.euros import DUE, offer_euros, paid
from tests.contract.payments import pay
from tests.greenfield.plugin import Plugin
from tests.greenfield.test_invoices import state
from tests.greenfield.test_refunds import body_of, pull, refund
from tests.rates.playing import price_in, store_rates

# 23.00 EUR are 25.03 USD at this rate, rounded up to a cent.
RATE = "1.08826"


@pytest.fixture
def euro_woo(live_woo: Plugin, settings: Any) -> Plugin:
    """WooCommerce's plugin in live mode of a store whose prices may be in EUR and JPY."""
    price_in(settings, "EUR", "JPY")
    store_rates({"EUR": RATE, "JPY": "0.0066"})
    return live_woo


def test_an_order_in_euros_has_one_quote_whatever_the_rate_is_later(euro_woo: Plugin) -> None:
    invoice = euro_woo.order(amount="23.00", currency="EUR")
    assert (invoice["amount"], invoice["currency"], invoice["paidAmount"]) == ("23.00", "EUR", "0.00")
    store_rates({"EUR": "1.2"})
    assert euro_woo.order(amount="23", currency="eur")["id"] == invoice["id"]
    assert euro_woo.order(amount="23.00", currency="USD")["id"] != invoice["id"]
    checkout = Checkout.objects.get(public_id=invoice["id"])
    assert (checkout.amount, checkout.price) == (Decimal("25.03"), Decimal("23.00"))
    # A rate is held for an hour at most.
    longer = euro_woo.order("1002", "23.00", currency="EUR", checkout={"expirationMinutes": 600})
    assert longer["expirationTime"] - longer["createdTime"] == 3600


def test_plugins_read_tokens_and_the_rate_of_the_quote(euro_woo: Plugin) -> None:
    invoice = euro_woo.order(amount="23.00", currency="EUR")
    pay(invoice["id"], 40)
    [method] = euro_woo.get(f"{euro_woo.store}/invoices/{invoice['id']}/payment-methods")
    assert (method["amount"], method["due"], method["totalPaid"]) == ("25.030000", "15.018000", "10.012000")
    # 23 / 25.03
    assert method["rate"] == "0.91889732"
    assert euro_woo.get(f"{euro_woo.store}/invoices/{invoice['id']}")["paidAmount"] == "9.20"
    pay(invoice["id"], 60)
    assert state(euro_woo, invoice["id"]) == ("Settled", "None")
    assert euro_woo.get(f"{euro_woo.store}/invoices/{invoice['id']}")["paidAmount"] == "23.00"


def test_yen_have_no_decimals(euro_woo: Plugin) -> None:
    assert euro_woo.order(amount="1200.00", currency="JPY")["amount"] == "1200"
    path = f"{euro_woo.store}/invoices"
    for amount in ("1200.50", "0"):
        status, [told] = euro_woo.refusal("POST", path, {"amount": amount, "currency": "JPY"})
        assert (status, told["path"]) == (422, "amount")


def test_without_a_rate_an_order_in_euros_waits_and_one_in_dollars_does_not(euro_woo: Plugin) -> None:
    store_rates({"EUR": "1.2"}, source="coinbase")
    status, told = euro_woo.refusal("POST", f"{euro_woo.store}/invoices", {"amount": "23.00", "currency": "EUR"})
    assert (status, told["code"]) == (503, "rate-unavailable")
    assert euro_woo.order(amount="25.00")["currency"] == "USD"


def test_what_is_sent_back_in_euros_is_converted_at_the_orders_quote(euro_woo: Plugin) -> None:
    invoice = euro_woo.order(amount="23.00", currency="EUR")
    pay(invoice["id"])
    store_rates({"EUR": "1.2"})
    # 11.50 EUR are half of 23.00 EUR, which were 25.03 USD.
    half = pull(euro_woo, amount="11.50", currency="EUR")
    assert (half["amount"], half["currency"]) == ("12.515000", "USD")
    custom = {"refundVariant": "Custom", "customAmount": "2.30", "customCurrency": "EUR"}
    assert refund(euro_woo, invoice["id"], **custom)["amount"] == "2.503000"
    assert refund(euro_woo, invoice["id"])["amount"] == "10.012000"
    assert sum(int(one.units) for one in Payout.objects.all()) == 25_030_000


def test_an_amount_without_a_currency_is_in_the_invoices(euro_woo: Plugin) -> None:
    invoice = euro_woo.order(amount="23.00", currency="EUR")["id"]
    pay(invoice)
    assert refund(euro_woo, invoice, refundVariant="Custom", customAmount="2.30")["amount"] == "2.503000"


@pytest.mark.parametrize("absent", [None, ""])
def test_a_pull_payment_without_a_currency_is_in_the_orders(euro_woo: Plugin, absent: str | None) -> None:
    pay(euro_woo.order(amount="23.00", currency="EUR")["id"])
    pay(euro_woo.order("1002", "25.00")["id"])
    assert pull(euro_woo, amount="11.50", currency=absent)["amount"] == "12.515000"
    assert pull(euro_woo, "Refund of order 1002", "11.50", currency=absent)["amount"] == "11.500000"


def test_an_order_is_refunded_in_its_currency_once_prices_are_taken_in_it_no_longer(
    euro_woo: Plugin, settings: Any
) -> None:
    invoice = euro_woo.order(amount="23.00", currency="EUR")["id"]
    pay(invoice)
    settings.PRICE_CURRENCIES = []
    assert pull(euro_woo, amount="11.50", currency="EUR")["amount"] == "12.515000"
    assert (
        refund(euro_woo, invoice, refundVariant="Custom", customAmount="2.30", customCurrency="EUR")["amount"]
        == "2.503000"
    )


def test_what_was_paid_in_euro_tokens_goes_back_in_them_alone(live_woo: Plugin, settings: Any) -> None:
    offer_euros(settings)
    invoice = live_woo.order(amount="23.00", currency="EUR")["id"]
    paid(Checkout.objects.get(public_id=invoice), DUE)
    assert state(live_woo, invoice) == ("Settled", "None")
    half = pull(live_woo, amount="11.50", currency="EUR")
    assert (half["amount"], half["currency"]) == ("11.500000", "EURC")
    assert Payout.objects.get().choices == [["base", "EURC"]]
    rest = refund(live_woo, invoice)
    assert (rest["amount"], rest["currency"]) == ("11.500000", "EURC")


def test_euros_of_no_certain_order_are_not_sent(euro_woo: Plugin) -> None:
    path = f"{euro_woo.store}/pull-payments"
    status, [told] = euro_woo.refusal("POST", path, body_of("Refund of order 77", "5.00") | {"currency": "EUR"})
    assert (status, told["path"]) == (422, "currency")
    assert not Payout.objects.exists()


@pytest.mark.parametrize("name", ["Refund of order 77", "Refund of orders 1001 and 1002"])
def test_an_amount_of_no_currency_and_of_no_certain_order_is_not_sent(euro_woo: Plugin, name: str) -> None:
    for order in ("1001", "1002"):
        pay(euro_woo.order(order, "23.00", currency="EUR")["id"])
    status, [told] = euro_woo.refusal(
        "POST", f"{euro_woo.store}/pull-payments", body_of(name, "5.00") | {"currency": None}
    )
    assert (status, told["path"]) == (422, "currency")
    assert not Payout.objects.exists()


def test_too_much_is_told_by_what_the_quote_says(euro_woo: Plugin) -> None:
    invoice = euro_woo.order(amount="23.00", currency="EUR")
    pay(invoice["id"], 120)
    assert state(euro_woo, invoice["id"]) == ("Settled", "PaidOver")
    assert refund(euro_woo, invoice["id"], refundVariant="OverpaidAmount")["amount"] == "5.006000"
