"""A terminal in another currency: what is typed is quoted as the price of any checkout, and never taken for dollars."""

import re
from datetime import UTC
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone, translation
from django.utils.translation import gettext

from accounts.models import Merchant
from checkouts.models import Checkout, Quote, TerminalSale
from checkouts.till.days import day_of_terminal
from checkouts.till.service import parse_amount, tip_of
from gateway.core import json
from gateway.core.api.errors import InvalidRequestError
from gateway.core.currencies import usd_at
from gateway.core.ids import new_code
from rates.models import Rate
from rates.selectors import forget
from tests.cases import undone
from tests.catalogues import LOOKED_AT
from tests.checkouts.till.terminals import Device, make_sale, make_terminal, paired_device
from tests.checkouts.till.test_days import play
from tests.checkouts.till.test_views import text_of
from tests.factories import NOON
from tests.rates.playing import make_quoted, price_in, store_rates

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well", "rates")]

RATES = {"EUR": "1.088260", "JPY": "0.006666666667"}


@pytest.fixture
def rates(settings: Any) -> None:
    """Prices may be in EUR and JPY, at agreed rates."""
    price_in(settings, "EUR", "JPY")
    settings.DEPEG_GUARD = False
    store_rates(RATES)


@pytest.fixture
def europe(merchant: Merchant) -> Device:
    """A phone that is paired with a terminal in EUR."""
    return paired_device(make_terminal(merchant, currency="EUR"))


def typed_in(page: str) -> str:
    """What the field of the amount has."""
    found = re.search(r'name="amount" value="([^"]*)"', page)
    assert found
    return found[1]


def test_what_is_typed_is_quoted_as_the_price_of_any_checkout(europe: Device) -> None:
    sale = europe.sale("12.50", "10")
    checkout = Checkout.objects.get(pk=sale.checkout_id)
    assert (checkout.currency, checkout.price, sale.tip) == ("EUR", Decimal("13.75"), Decimal("1.25"))
    assert checkout.amount == usd_at(Decimal("13.75"), Decimal(RATES["EUR"]), Decimal(0))
    assert Quote.objects.get().checkout_id == checkout.pk
    assert json.loads(checkout.metadata.encode())["tip"] == "1.25"
    page = text_of(europe.get("till_sale", checkout_id=checkout.public_id))
    assert "13.75 EUR" in page
    assert "with a tip of 1.25 EUR" in page
    # Nor in its title.
    assert "USD" not in page.partition("</title>")[0]
    assert "<b>13.75 EUR</b>" in text_of(europe.get("till_sales"))


def test_a_currency_without_cents_has_a_keypad_without_a_point(merchant: Merchant) -> None:
    device = paired_device(make_terminal(merchant, currency="JPY"))
    keypad = text_of(device.get("till"))
    assert 'data-decimals="0"' in keypad
    assert 'placeholder="0"' in keypad
    sale = device.sale("1210", "5")
    # 60.5 yen are 61: half of the least unit is rounded up.
    assert (Checkout.objects.get().price, sale.tip) == (Decimal(1271), Decimal(61))
    assert "1,271 JPY" in text_of(device.get("till_sale", checkout_id=sale.checkout.public_id))
    assert device.charge("12.50").status_code == 422


def test_a_press_is_one_sale_although_the_rate_moves(europe: Device) -> None:
    form = new_code()
    first = europe.charge("5.00", form=form)
    store_rates({"EUR": "1.2"})
    assert europe.charge("5.00", form=form)["Location"] == first["Location"]
    assert TerminalSale.objects.count() == Quote.objects.count() == 1


def test_without_a_rate_nothing_is_charged(europe: Device) -> None:
    Rate.objects.all().delete()
    forget()
    answer = europe.charge()
    assert answer.status_code == 503
    assert "There is no rate for EUR now, so nothing was charged" in text_of(answer)
    assert not Checkout.objects.exists()
    # Dollars go on.
    assert paired_device(make_terminal(europe.terminal.merchant)).charge().status_code == 303


@pytest.mark.parametrize("amount", ["0.05", "1000000.00", "999999999999999", "1.234", "x"])
def test_what_is_no_price_or_worth_too_much_or_too_little_is_said(amount: str, europe: Device) -> None:
    answer = europe.charge(amount)
    assert answer.status_code == 422
    assert 'role="alert"' in text_of(answer)
    assert not Checkout.objects.exists()


def test_a_number_that_was_typed_as_dollars_is_not_charged_in_euros(europe: Device) -> None:
    """The merchant changed the currency while the keypad was open. One of before the upgrade names none."""
    for sent in ({"currency": "USD"}, {"currency": "JPY"}, {}):
        answer = europe.post("till", {"form": new_code(), "amount": "5.00", "tip": "", **sent})
        assert answer.status_code == 422
        assert "The currency is EUR now. Type the amount again." in text_of(answer)
        assert typed_in(text_of(answer)) == ""
    kept = europe.post("till", {"form": new_code(), "amount": "0.001", "tip": "", "currency": "EUR"})
    assert typed_in(text_of(kept)) == "0.001"
    assert not Checkout.objects.exists()


def test_a_currency_that_the_operator_took_out_sells_nothing_more(europe: Device, settings: Any) -> None:
    settings.PRICE_CURRENCIES = []
    answer = europe.charge()
    assert answer.status_code == 422
    assert "Prices in EUR are not taken any more" in text_of(answer)
    assert not Checkout.objects.exists()


def test_sums_are_apart_for_each_currency(merchant: Merchant) -> None:
    terminal = make_terminal(merchant, currency="EUR")
    make_sale(terminal, "10.00", tip=Decimal("1.00"))
    make_sale(terminal, "4.00", currency="USD")
    play()
    day = day_of_terminal(terminal, timezone.now().date(), UTC)
    assert [(one.currency, one.paid, one.total, one.tips) for one in day.sums] == [
        ("EUR", 1, Decimal("11.00"), Decimal("1.00")),
        ("USD", 1, Decimal("4.00"), Decimal(0)),
    ]
    assert (day.made, day.paid) == (2, 2)
    assert day.sums[0].shown == ("10.00", "1.00", "11.00")


def test_less_money_that_a_person_took_counts_as_its_part_of_the_price(merchant: Merchant) -> None:
    terminal = make_terminal(merchant, currency="EUR")
    # Half of 25.03 USD, which were 23.00 EUR.
    taken = make_quoted(merchant, status="completed", paid_at=NOON, accepted_amount=Decimal("12.515"))
    TerminalSale.objects.create(terminal=terminal, checkout=taken, form="less", created_at=NOON)
    [euros] = day_of_terminal(terminal, NOON.date(), UTC).sums
    assert euros.total == Decimal("11.50")


def test_a_signs_page_asks_in_the_terminals_currency(client: Client, merchant: Merchant) -> None:
    terminal = make_terminal(merchant, currency="EUR")
    address = f"/t/{terminal.code}"
    page = " ".join(client.get(address).content.decode().split())
    assert "Amount in EUR" in page
    assert "From $" not in page
    answer = client.post(address, {"form": new_code(), "amount": "4,20", "currency": "EUR"})
    assert answer.status_code == 303
    assert Checkout.objects.get().price == Decimal("4.20")
    dollars = client.post(address, {"form": new_code(), "amount": "4.20"})
    assert dollars.status_code == 400
    assert "The currency is EUR now. Nothing was paid. Type the amount again." in text_of(dollars)
    assert typed_in(text_of(dollars)) == ""
    unread = text_of(client.post(address, {"amount": "x", "currency": "EUR"}))
    assert "in digits" in unread
    assert typed_in(unread) == "x"
    Rate.objects.all().delete()
    forget()
    assert client.post(address, {"form": new_code(), "amount": "4.20", "currency": "EUR"}).status_code == 503
    assert Checkout.objects.count() == 1


@pytest.mark.parametrize(("currency", "least"), [("EUR", "0.00"), ("JPY", "0")])
def test_a_signs_page_asks_in_its_currency_in_each_language(
    client: Client, merchant: Merchant, currency: str, least: str
) -> None:
    terminal = make_terminal(merchant, currency=currency)
    for language in LOOKED_AT:
        with undone(language):
            page = text_of(client.get(f"/t/{terminal.code}?lang={language}"))
            with translation.override(language):
                label = gettext("Amount in %(currency)s") % {"currency": currency}
            assert (label in page, f'placeholder="{least}"' in page) == (True, True)
            assert f'<span aria-hidden="true">{currency}</span>' in page
            assert (label == f"Amount in {currency}") == (language == "en")


@pytest.mark.parametrize(("typed", "amount"), [("12,5", "12.50"), ("٣", "3.00"), (" 7 ", "7.00")])
def test_prices_are_read_as_people_type_them(typed: str, amount: str) -> None:
    assert parse_amount(typed, "EUR") == Decimal(amount)


@pytest.mark.parametrize(("typed", "currency"), [("1.000", "EUR"), ("1.000", "JPY"), ("$5", "EUR"), ("9" * 13, "EUR")])
def test_marks_of_thousands_and_other_signs_are_no_price(typed: str, currency: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_amount(typed, currency)
    assert refused.value.param == "amount"


@pytest.mark.parametrize(("price", "rate", "tip"), [("1210", 5, "61"), ("1209", 5, "60"), ("1000", 0, "0")])
def test_a_tip_has_its_currencys_decimals(price: str, rate: int, tip: str) -> None:
    assert tip_of(Decimal(price), rate, "JPY") == Decimal(tip)
