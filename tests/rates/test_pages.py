"""What people see of rates: a merchant's margin, the operator's sources, the status page and the metrics."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, Merchant
from gateway.core.times import iso
from gateway.pages.metrics import measure
from gateway.status.views import as_json, current_report, make_report
from rates.models import RateTrouble
from rates.service import note_troubles
from tests.contract.client import ApiClient
from tests.dashboard.people import Desk
from tests.links.factories import make_template
from tests.rates.playing import price_in, store_rates

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _euros(settings: Any) -> None:
    price_in(settings, "EUR", "JPY")


# The merchant's page.


def test_an_owner_sets_a_margin_and_it_is_audited_once(owner: Desk) -> None:
    store_rates({"EUR": "1.08826"})
    page = owner.get("dashboard_prices").text
    assert "1 EUR = 1.0883 USD" in page
    assert "No agreed rate: prices in JPY are refused now." in page
    for _ in range(2):
        assert owner.post("dashboard_rate_margin", {"margin": "1.5"}).status_code == 302
    assert Merchant.objects.get(pk=owner.merchant.pk).rate_margin == Decimal("0.0150")
    [entry] = AuditEntry.objects.filter(action="merchant.rate_margin_set")
    assert (entry.before, entry.after) == ({"rate_margin": "0.0000"}, {"rate_margin": "0.015"})


def chosen(page: str) -> list[str]:
    """The currencies that the page's form begins with."""
    return re.findall(r'<option value="([A-Z]{3})" selected>', page)


def test_an_owner_chooses_the_currency_that_forms_begin_with(owner_in_test_mode: Desk, settings: Any) -> None:
    desk = owner_in_test_mode
    assert chosen(desk.get("dashboard_new_checkout").text) == ["USD"]
    for _ in range(2):
        assert desk.post("dashboard_price_currency", {"price_currency": "EUR"}).status_code == 302
    [entry] = AuditEntry.objects.filter(action="merchant.price_currency_set")
    assert (entry.before, entry.after) == ({"price_currency": "USD"}, {"price_currency": "EUR"})
    for page in (
        desk.get("dashboard_prices"),
        desk.get("dashboard_new_checkout"),
        desk.get("dashboard_new_link_of", kind="custom"),
        desk.get("dashboard_new_link_of", kind="invoice"),
    ):
        assert chosen(page.text) == ["EUR"]
    # Donations have no currency, and what was chosen is left alone where it was taken out of the setting.
    assert chosen(desk.get("dashboard_new_link_of", kind="donation").text) == []
    price_in(settings, "JPY")
    assert chosen(desk.get("dashboard_new_checkout").text) == ["USD"]
    assert Merchant.objects.get(pk=desk.merchant.pk).price_currency == "EUR"


def test_a_form_from_a_template_begins_in_usd_as_the_templates_amount(owner: Desk) -> None:
    owner.post("dashboard_price_currency", {"price_currency": "EUR"})
    template = make_template(owner.merchant)
    page = owner.get("dashboard_new_link_of", f"?template={template.public_id}", kind="custom").text
    assert "40" in re.findall(r'name="amount" value="(\d+)', page)
    assert chosen(page) == []


def test_the_default_of_forms_is_none_of_the_apis(seller: ApiClient) -> None:
    Merchant.objects.update(price_currency="EUR")
    answer = seller.post("/checkouts", {"amount": "25.00"})
    assert (answer.status, answer.code, answer.error["param"]) == (400, "parameter_missing", "currency")


@pytest.mark.parametrize("currency", ["GBP", "eur", "", "KWD"])
def test_forms_begin_with_a_currency_of_the_list(owner: Desk, currency: str) -> None:
    assert owner.post("dashboard_price_currency", {"price_currency": currency}).status_code == 422
    assert Merchant.objects.get(pk=owner.merchant.pk).price_currency == "USD"


@pytest.mark.parametrize("margin", ["-1", "5.01", "1.555", "x", ""])
def test_a_margin_is_zero_to_five_per_cent(owner: Desk, margin: str) -> None:
    assert owner.post("dashboard_rate_margin", {"margin": margin}).status_code == 422
    assert Merchant.objects.get(pk=owner.merchant.pk).rate_margin == 0


@pytest.mark.parametrize("who", ["admin", "viewer"])
def test_only_owners_set_it(who: str, request: pytest.FixtureRequest) -> None:
    desk: Desk = request.getfixturevalue(who)
    assert desk.get("dashboard_prices").status_code == 200
    assert desk.post("dashboard_rate_margin", {"margin": "1"}).status_code == 403
    assert desk.post("dashboard_price_currency", {"price_currency": "EUR"}).status_code == 403


def test_the_database_refuses_a_larger_margin(merchant: Merchant) -> None:
    with pytest.raises(IntegrityError, match="merchant_rate_margin_in_range"), transaction.atomic():
        Merchant.objects.filter(pk=merchant.pk).update(rate_margin=Decimal("0.0501"))


def test_the_page_is_in_the_sidebar_only_where_there_are_prices(owner: Desk, settings: Any) -> None:
    address = owner.url("dashboard_prices")
    assert address in owner.get("dashboard_overview").text
    settings.PRICE_CURRENCIES = []
    assert address not in owner.get("dashboard_overview").text


# The operator's page, the status page, the metrics.


def test_the_operator_sees_each_sources_last_word_and_why_there_is_no_rate(operators_browser: Client) -> None:
    store_rates({"EUR": "1.08826"}, source="kraken")
    store_rates({"EUR": "1.2"}, source="coinbase")
    note_troubles(now=timezone.now())
    page = operators_browser.get("/operator/rates/").content.decode()
    for words in (
        "kraken",
        "1.088260",
        "coinbase",
        "1.200000",
        "The sources do not agree.",
        "No source gave a rate in time.",
    ):
        assert words in page


def test_the_operators_page_says_that_nothing_is_asked(operators_browser: Client, settings: Any) -> None:
    settings.PRICE_CURRENCIES, settings.RATE_SOURCES = [], []
    page = operators_browser.get("/operator/rates/").content.decode()
    assert "No source is named: prices are in USD." in page


def test_the_status_page_names_currencies_without_a_rate(client: Client) -> None:
    now = timezone.now()
    store_rates({"EUR": "1.08826"})
    RateTrouble.objects.create(currency="JPY", reason="silent", readings=[], began_at=now - timedelta(minutes=5))
    told = as_json(make_report(now=now))["rates"]["unavailable"]
    assert [one["currency"] for one in told] == ["JPY"]
    current_report.cache_clear()
    assert "No rate for JPY since" in client.get("/status").content.decode()


def test_the_status_page_does_not_call_prices_working_while_no_task_runs() -> None:
    now = timezone.now()
    store_rates({"EUR": "1.08826", "JPY": "0.0066"}, now=now)
    assert as_json(make_report(now=now))["rates"]["unavailable"] == []
    told = as_json(make_report(now=now + timedelta(hours=1)))["rates"]["unavailable"]
    # Each said 5 seconds ago, and good for three minutes.
    since = iso(now + timedelta(seconds=175))
    assert told == [{"currency": "EUR", "since": since}, {"currency": "JPY", "since": since}]


def test_where_prices_are_in_usd_the_status_says_nothing_of_rates(settings: Any) -> None:
    settings.PRICE_CURRENCIES = []
    assert "rates" not in as_json(make_report(now=timezone.now()))


def test_metrics_tell_ages_and_refusals(settings: Any) -> None:
    now = timezone.now()
    store_rates({"EUR": "1.08826"}, now=now)
    told = measure(now=now).decode()
    assert 'florin_rate_age_seconds{currency="EUR",source="kraken"} 5.0' in told
    assert 'florin_rate_unavailable{currency="EUR"} 0.0' in told
    assert 'florin_rate_unavailable{currency="JPY"} 1.0' in told
