"""A price in another currency from the API to the page, webhook, receipt, refund and month's statement; and what it leaves alone."""

import csv
import io
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.inbox.successors import accept_late
from checkouts.lifecycle.moves import expire
from checkouts.line_items import line_items_of
from checkouts.models import Checkout, InboxItem, Quote
from checkouts.selectors import other_tries
from checkouts.states import CheckoutStatus, InboxReason
from gateway.core.currencies import DECIMALS, usd_at
from links.models import PaymentLink
from rates.models import Rate
from tests.checkouts.page.test_views import page_of
from tests.checkouts.schema import alter
from tests.checkouts.watcher import Watcher, attribute, events_of, fresh, last_body, shown
from tests.contract.client import ApiClient, client_of
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout, make_merchant
from tests.links.payer import Payer
from tests.rates.playing import make_quoted, price_in, store_rates
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

RATES = {"EUR": "1.088260", "JPY": "0.006666666667"}
ONLY_USD = {
    "error": {
        "type": "invalid_request",
        "message": 'Only "USD" is supported.',
        "param": "currency",
        "code": "currency_unsupported",
    }
}
"""What the specification answers to every other currency."""


@pytest.fixture
def europe(seller: ApiClient, settings: Any) -> ApiClient:
    """A live key of a merchant whose prices may be in EUR and JPY, at agreed rates."""
    price_in(settings, "EUR", "JPY")
    settings.DEPEG_GUARD = False
    store_rates(RATES)
    return seller


def made(shop: ApiClient, amount: str = "23.00", currency: str = "EUR", **fields: Any) -> Checkout:
    body = shop.created(amount=amount, currency=currency, **fields)
    return Checkout.objects.select_related("merchant").get(public_id=body["id"])


def paid(checkout: Checkout, units: int) -> Transfer:
    """Pay by a transfer that is seen, final and credited now."""
    now, watcher = timezone.now(), Watcher(height=100 + Transfer.objects.count())
    transfer = watcher.sees(checkout, units, at=now)
    watcher.confirms(transfer, now=now)
    attribute(now=now)
    return transfer


# The walk.


def test_a_checkout_in_euros_from_the_api_to_the_receipt(europe: ApiClient, client: Client) -> None:
    created = europe.created(amount="23.00", currency="EUR", order_ref="1001", description="A coffee grinder")
    quote = created["quote"]
    assert (created["amount"], created["currency"]) == ("23.00", "EUR")
    assert (quote["usd_amount"], quote["rate"], quote["margin"]) == ("25.03", "1.088260", "0.0000")
    assert [(one["name"], one["rate"]) for one in quote["sources"]] == [
        ("kraken", "1.088260"),
        ("coinbase", "1.088260"),
    ]
    assert quote["expires_at"] == created["expires_at"]
    assert created["amount_remaining"] == "25.030000"
    assert {option["payAmount"] for option in created["available_chains"]} == {"25.030000"}

    checkout = Checkout.objects.get(public_id=created["id"])
    page = page_of(client, checkout)
    for words in (
        "23.00<small>EUR</small>",
        "25.03 USD",
        "1 EUR = 1.0883 USD",
        "<bdi>kraken</bdi>",
        "<bdi>coinbase</bdi>",
        "25.03",
    ):
        assert words in page
    assert "$23.00" not in page

    paid(checkout, 25_030_000)
    assert events_of(checkout) == ["completed"]
    told = last_body(checkout)["data"]
    assert (told["amount"], told["currency"], told["amount_received"]) == ("23.00", "EUR", "25.030000")
    assert told["quote"] == quote
    assert shown(checkout)["quote"] == quote

    receipt = page_of(client, fresh(checkout), "/receipt")
    for words in (
        "23.00 EUR",
        "25.03 USD",
        "1 EUR = 1.0883 USD",
        "25.03 USDC",
        "<bdi>kraken</bdi>",
        "<bdi>coinbase</bdi>",
    ):
        assert words in receipt
    assert "$23.00" not in receipt


def test_yen_have_no_decimals(europe: ApiClient, client: Client) -> None:
    checkout = made(europe, "1200", "JPY")
    assert (checkout.price, checkout.amount) == (Decimal(1200), Decimal("8.01"))
    assert shown(checkout)["amount"] == "1200"
    page = page_of(client, checkout)
    assert "1,200<small>JPY</small>" in page
    assert "1 JPY = 0.0066667 USD" in page


# What is kept, and what repeats.


def test_the_quote_can_be_checked_by_its_evidence(europe: ApiClient) -> None:
    Merchant.objects.update(rate_margin=Decimal("0.0150"))
    quote = made(europe).quote
    assert quote is not None
    assert quote.usd_amount == usd_at(quote.price, quote.rate, quote.margin) == Decimal("25.41")
    assert quote.checkout.amount == quote.usd_amount
    assert quote.evidence[0]["rate"] == "1.088260"


def test_the_same_order_repeats_although_the_rate_moved_and_although_there_is_none(europe: ApiClient) -> None:
    first = europe.create(amount="23.00", currency="EUR", order_ref="1001")
    store_rates({"EUR": "1.2"})
    again = europe.create(amount="23.00", currency="EUR", order_ref="1001")
    Rate.objects.all().delete()
    third = europe.create(amount="23", currency="EUR", order_ref="1001")
    assert [one.status for one in (first, again, third)] == [201, 200, 200]
    assert {one.body["id"] for one in (first, again, third)} == {first.body["id"]}
    assert again.body["quote"] == third.body["quote"] == first.body["quote"]
    assert Checkout.objects.count() == Quote.objects.count() == 1


def test_another_price_or_currency_of_an_order_is_another_checkout(europe: ApiClient) -> None:
    ids = {
        made(europe, amount, currency, order_ref="1001").pk
        for amount, currency in (("23.00", "EUR"), ("23.10", "EUR"), ("2300", "JPY"), ("25.03", "USD"))
    }
    assert len(ids) == 4


def test_two_prices_of_an_order_that_come_to_one_cent_are_not_mixed_up(europe: ApiClient) -> None:
    made(europe, "1199", "JPY", order_ref="1001")
    store_rates({"JPY": "0.006661111111"})
    answer = europe.create(amount="1200", currency="JPY", order_ref="1001")
    # The constraint of the release before still holds; the release that contracts allows it.
    assert (answer.status, answer.code) == (409, "state_conflict")
    assert Checkout.objects.count() == 1


def test_this_release_runs_on_the_index_of_the_one_that_contracts(europe: ApiClient) -> None:
    alter("DROP INDEX checkout_once_per_order_ref")
    alter(
        "CREATE UNIQUE INDEX checkout_once_per_usd_order_ref ON checkouts_checkout"
        " (merchant_id, mode, creation_ref, amount, currency) WHERE creation_ref IS NOT NULL AND price IS NULL"
    )
    first = made(europe, "1199", "JPY", order_ref="1001")
    store_rates({"JPY": "0.006661111111"})
    second = made(europe, "1200", "JPY", order_ref="1001")
    assert first.amount == second.amount
    assert europe.create(amount="1200", currency="JPY", order_ref="1001").body["id"] == second.public_id
    answers = [europe.create(order_ref="1002") for _ in range(2)]
    assert [one.status for one in answers] == [201, 200]
    assert len({one.body["id"] for one in answers}) == 1


def test_a_quote_never_changes(europe: ApiClient) -> None:
    quote = made(europe).quoted
    with pytest.raises(IntegrityError, match="quotes are never changed"), transaction.atomic():
        Quote.objects.update(rate=2)
    with pytest.raises(IntegrityError, match="quotes are never changed"), transaction.atomic():
        quote.delete()


def test_without_the_trigger_a_quote_would_change(europe: ApiClient) -> None:
    made(europe)
    alter("DROP TRIGGER quote_append_only ON checkouts_quote")
    assert Quote.objects.update(rate=2) == 1


# Without a rate.


@pytest.mark.parametrize("rates", [{}, {"kraken": "1.09"}, {"kraken": "1.09", "coinbase": "1.15"}])
def test_without_an_agreed_rate_nothing_is_created_and_usd_goes_on(europe: ApiClient, rates: dict[str, str]) -> None:
    Rate.objects.all().delete()
    for source, rate in rates.items():
        store_rates({"EUR": rate}, source=source)
    answer = europe.create(amount="23.00", currency="EUR")
    assert (answer.status, answer.code, answer.error["param"]) == (503, "rate_unavailable", "currency")
    assert answer.headers["Retry-After"] == "60"
    assert not Checkout.objects.exists()
    assert europe.create().status == 201


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"currency": "GBP"}, "currency_unsupported"),
        ({"currency": "eur"}, "currency_unsupported"),
        ({"currency": ["EUR"]}, "currency_unsupported"),
        ({"amount": "23.001"}, "amount_invalid"),
        ({"amount": 23}, "amount_not_string"),
        ({"amount": "0.00"}, "amount_out_of_range"),
        ({"amount": "0.05"}, "amount_out_of_range"),
        ({"amount": "1000000.00"}, "amount_out_of_range"),
        ({"amount": "9" * 16}, "amount_out_of_range"),
        ({"amount": "9" * 400, "currency": "JPY"}, "amount_out_of_range"),
        ({"amount": "12.00", "currency": "JPY"}, "amount_invalid"),
        ({"expires_in": 3601}, "expires_in_out_of_range"),
    ],
)
def test_what_a_price_may_not_be(europe: ApiClient, fields: dict[str, Any], code: str) -> None:
    answer = europe.create(**({"amount": "23.00", "currency": "EUR"} | fields))
    assert (answer.status, answer.code) == (400, code)


def test_without_the_setting_every_other_currency_is_the_same_refusal_word_for_word(
    seller: ApiClient, settings: Any
) -> None:
    settings.PRICE_CURRENCIES = []
    others = [*(DECIMALS.keys() - {"USD"}), "usd", "USDC", "EURC", "KWD", "", " USD"]
    assert len(others) > 60
    # One key may ask sixty times a minute.
    clients = [seller, client_of(seller.merchant, Mode.LIVE)]
    for number, currency in enumerate(others):
        answer = clients[number % 2].create(currency=currency)
        assert (answer.status, answer.body) == (400, ONLY_USD), currency
    assert not Checkout.objects.exists()


def test_usd_asks_for_nothing_more_where_other_currencies_are_on(seller: ApiClient, settings: Any) -> None:
    def queries() -> list[str]:
        seller.create()  # fills the caches
        with CaptureQueriesContext(connection) as captured:
            answer = seller.create()
        assert "quote" not in answer.body
        return [query["sql"] for query in captured]

    settings.PRICE_CURRENCIES, settings.RATE_SOURCES = [], []
    before = queries()
    price_in(settings, "EUR")
    store_rates(RATES)
    assert len(queries()) == len(before)


def test_a_person_creates_a_checkout_in_euros_by_the_form(owner_in_test_mode: Desk, settings: Any) -> None:
    desk, filled = (
        owner_in_test_mode,
        {"amount": "23.00", "currency": "EUR", "expires_in": "1800", "test_scenario": "completed"},
    )
    settings.PRICE_CURRENCIES = []
    assert 'name="currency"' not in desk.get("dashboard_new_checkout").text
    price_in(settings, "EUR")
    assert desk.post("dashboard_new_checkout", filled).status_code == 409
    assert not Checkout.objects.exists()
    store_rates(RATES)
    refused = desk.post("dashboard_new_checkout", filled | {"amount": "0.05"})
    assert refused.status_code == 409
    assert "Amount must be worth 0.10 to 1,000,000.00 USD; it is worth 0.06." in refused.text
    assert desk.post("dashboard_new_checkout", filled).status_code == 302
    checkout = Checkout.objects.get()
    assert (checkout.price, checkout.amount) == (Decimal("23.00"), Decimal("25.03"))
    assert "23.00 EUR (25.03 USD)" in desk.get("dashboard_checkout", checkout_id=checkout.public_id).text
    assert "23.00 EUR" in desk.get("dashboard_checkouts").text


def test_a_person_creates_a_link_in_euros_by_the_form(owner_in_test_mode: Desk, settings: Any) -> None:
    desk, filled = owner_in_test_mode, {"title": "Poster", "amount": "23.00", "currency": "EUR"}
    settings.PRICE_CURRENCIES = []
    assert 'name="currency"' not in desk.get("dashboard_new_link_of", kind="custom").text
    price_in(settings, "EUR")
    assert 'name="currency"' in desk.get("dashboard_new_link_of", kind="invoice").text
    assert 'name="currency"' not in desk.get("dashboard_new_link_of", kind="donation").text
    refused = desk.post("dashboard_new_link_of", filled | {"save_as_template": "on"}, kind="custom")
    assert (refused.status_code, "A template is in US dollars." in refused.text) == (422, True)
    assert desk.post("dashboard_new_link_of", filled, kind="custom").status_code == 302
    link = PaymentLink.objects.get()
    assert (link.amount, link.currency) == (Decimal("23.00"), "EUR")


# Links, renewals, successors, rests.


def test_a_link_keeps_its_currency_and_each_press_of_pay_quotes(europe: ApiClient, client: Client) -> None:
    link = europe.post("/links", {"title": "Workshop", "amount": "23.00", "currency": "EUR"}).body
    assert (link["amount"], link["currency"]) == ("23.00", "EUR")
    code = PaymentLink.objects.get(public_id=link["id"]).code
    payer = Payer(client)
    assert "23.00 EUR" in payer.look(f"/p/{code}")
    first = payer.pay(f"/p/{code}")
    store_rates({"EUR": "1.1"})
    second = payer.pay(f"/p/{code}")
    assert [(one.price, one.amount) for one in (first, second)] == [
        (Decimal("23.00"), Decimal("25.03")),
        (Decimal("23.00"), Decimal("25.30")),
    ]
    Rate.objects.all().delete()
    assert payer.press(f"/p/{code}").status_code == 409


def test_donations_are_in_usd(europe: ApiClient) -> None:
    answer = europe.post("/links", {"title": "Give", "type": "donation", "currency": "EUR", "amount": "5.00"})
    assert (answer.status, answer.code) == (400, "currency_unsupported")


def test_the_dollars_of_a_template_do_not_become_euros(europe: ApiClient) -> None:
    template = europe.post("/link_templates", {"title": "Workshop", "amount": "40.00"}).body["id"]
    refused = europe.post("/links", {"template": template, "currency": "EUR"})
    assert (refused.status, refused.code, refused.error["param"]) == (400, "parameter_missing", "amount")
    link = europe.post("/links", {"template": template, "currency": "EUR", "amount": "36.00"}).body
    assert (link["title"], link["amount"], link["currency"]) == ("Workshop", "36.00", "EUR")
    assert europe.post("/links", {"template": template, "currency": "USD"}).body["amount"] == "40.00"


def test_a_link_in_yen_can_be_changed(europe: ApiClient) -> None:
    link = europe.post("/links", {"title": "Workshop", "amount": "1200", "currency": "JPY"}).body
    changed = europe.send("PATCH", f"/links/{link['id']}", {"description": "Two hours"})
    assert (changed.status, changed.body["amount"]) == (200, "1200")


def ended(checkout: Checkout) -> Checkout:
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=timezone.now() + timedelta(hours=2))
    return Checkout.objects.select_related("merchant").get(pk=checkout.pk)


def test_a_renewal_quotes_anew(europe: ApiClient, client: Client) -> None:
    Merchant.objects.update(buyers_may_retry=True)
    checkout = ended(made(europe))
    store_rates({"EUR": "1.1"})
    answer = client.post(f"/c/{checkout.code}/again")
    renewed = Checkout.objects.get(code=answer["Location"].removeprefix("/c/"))
    assert (renewed.price, renewed.currency, renewed.amount) == (Decimal("23.00"), "EUR", Decimal("25.30"))
    assert renewed.quoted.rate == Decimal("1.1")


def test_who_paid_a_renewal_at_another_rate_is_told_so_on_the_page_that_was_left(
    europe: ApiClient, client: Client
) -> None:
    Merchant.objects.update(buyers_may_retry=True)
    left = ended(made(europe))
    store_rates({"EUR": "1.1"})
    answer = client.post(f"/c/{left.code}/again")
    renewed = Checkout.objects.get(code=answer["Location"].removeprefix("/c/"))
    assert renewed.amount != left.amount
    assert (other_tries(left), other_tries(renewed)) == ([renewed], [left])


def test_a_renewal_without_a_rate_tells_the_buyer(europe: ApiClient, client: Client) -> None:
    Merchant.objects.update(buyers_may_retry=True)
    checkout = ended(made(europe))
    Rate.objects.all().delete()
    assert client.post(f"/c/{checkout.code}/again").status_code == 409
    assert Checkout.objects.count() == 1


def test_a_successor_of_late_money_keeps_the_quote(europe: ApiClient) -> None:
    checkout = ended(made(europe))
    store_rates({"EUR": "1.3"})
    later = timezone.now() + timedelta(hours=3)
    watcher = Watcher(height=500)
    transfer = watcher.sees(checkout, 25_030_000, at=later)
    watcher.confirms(transfer, now=later)
    attribute(now=later)
    item = InboxItem.objects.get(reason=InboxReason.LATE, checkout=checkout)
    with transaction.atomic():
        successor = accept_late(item, now=later)
    assert successor.status == CheckoutStatus.COMPLETED
    assert (successor.price, successor.amount) == (Decimal("23.00"), Decimal("25.03"))
    told = shown(successor)
    assert (told["amount"], told["quote"]["rate"]) == ("23.00", "1.088260")


def test_the_rest_of_an_underpaid_checkout_stays_at_its_rate(europe: ApiClient) -> None:
    checkout = made(europe)
    paid(checkout, 20_000_000)
    store_rates({"EUR": "1.3"})
    told = shown(checkout)
    assert (told["status"], told["amount_remaining"]) == ("underpaid", "5.030000")
    paid(checkout, 5_030_000)
    assert shown(checkout)["status"] == "completed"


# Refunds and the books.


def test_a_refund_in_euros_is_at_the_quote_whatever_the_rate_is_now(europe: ApiClient) -> None:
    checkout = made(europe)
    paid(checkout, 25_030_000)
    store_rates({"EUR": "1.3"})
    source = {"source": {"checkout": checkout.public_id}}
    part = europe.post("/refunds", source | {"amount": "11.50", "currency": "EUR"})
    assert (part.status, part.body["amount"]) == (201, "12.515000")
    rest = europe.post("/refunds", source | {"amount": "11.50", "currency": "EUR"})
    assert rest.body["amount"] == "12.515000"
    refused = europe.post("/refunds", source | {"amount": "0.01", "currency": "EUR"})
    assert (refused.status, refused.code) == (409, "amount_not_refundable")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"amount": "1200", "currency": "JPY"}, "currency_unsupported"),
        ({"currency": "JPY"}, "currency_unsupported"),
        ({"amount": "1.001", "currency": "EUR"}, "amount_invalid"),
    ],
)
def test_a_refund_is_in_the_checkouts_own_currency(europe: ApiClient, body: dict[str, str], code: str) -> None:
    checkout = made(europe)
    paid(checkout, 25_030_000)
    answer = europe.post("/refunds", {"source": {"checkout": checkout.public_id}} | body)
    assert (answer.status, answer.code) == (400, code)


def test_a_refund_is_at_its_quote_also_once_the_currency_is_taken_out_of_the_setting(
    europe: ApiClient, settings: Any
) -> None:
    checkout = made(europe)
    paid(checkout, 25_030_000)
    settings.PRICE_CURRENCIES = []
    source = {"source": {"checkout": checkout.public_id}}
    answer = europe.post("/refunds", source | {"amount": "11.50", "currency": "EUR"})
    assert (answer.status, answer.body["amount"]) == (201, "12.515000")
    for other in ("JPY", "eur", "KWD", ["EUR"]):
        assert europe.post("/refunds", source | {"amount": "1", "currency": other}).code == "currency_unsupported"


def test_a_refund_in_euros_of_an_unknown_checkout_is_not_found(europe: ApiClient) -> None:
    strange = make_quoted(make_merchant())
    for checkout in (strange.public_id, "chk_live_nobodys"):
        answer = europe.post("/refunds", {"source": {"checkout": checkout}, "amount": "1.00", "currency": "EUR"})
        assert (answer.status, answer.error["param"]) == (404, "source")


def test_reports_count_in_usd_and_name_the_price(europe: ApiClient) -> None:
    paid(made(europe, order_ref="1001"), 25_030_000)
    paid(made(europe, "10.00", "USD", order_ref="1002"), 10_000_000)
    rows = {row["order_ref"]: row for row in europe.get("/reports/transactions").body["data"]}
    assert (rows["1001"]["usd_value"], rows["1001"]["price"], rows["1001"]["price_currency"]) == (
        "25.030000",
        "23.00",
        "EUR",
    )
    assert (rows["1002"]["price"], rows["1002"]["price_currency"]) == (None, None)


def test_a_file_says_how_a_price_was_converted(viewer: Desk) -> None:
    make_checkout(viewer.merchant)
    make_quoted(viewer.merchant)
    answer = viewer.get("dashboard_checkouts_csv")
    told, usd = csv.DictReader(io.StringIO(answer.getvalue().decode("utf-8-sig")))
    assert list(told)[-4:] == ["rate", "rate_margin", "rate_sources", "rate_taken_at"]
    assert (told["amount"], told["price"], told["price_currency"]) == ("25.03", "23.00", "EUR")
    assert (told["rate"], told["rate_margin"], told["rate_sources"]) == ("1.088260", "0.0000", "kraken")
    assert told["rate_taken_at"] == "2026-11-20T12:00:00.000000Z"
    assert {usd[name] for name in list(usd)[-4:]} == {""}


def test_prices_in_usd_have_no_quote(europe: ApiClient) -> None:
    checkout = made(europe, "25.00", "USD")
    assert checkout.quote is None
    assert not Quote.objects.exists()
    assert "quote" not in shown(checkout)


# The peg.


def test_a_token_that_lost_its_peg_is_not_offered_and_repeats_are_answered(europe: ApiClient, settings: Any) -> None:
    first = europe.created(order_ref="1001")
    assert {token for option in first["available_chains"] for token in option["tokens"]} == {"USDC", "USDT"}
    settings.DEPEG_GUARD = True
    store_rates({"USDT": "0.97", "USDC": "1"})
    left = europe.created()
    assert {token for option in left["available_chains"] for token in option["tokens"]} == {"USDC"}
    store_rates({"USDC": "0.97"})
    answer = europe.create()
    assert (answer.status, answer.code) == (409, "state_conflict")
    assert europe.create(order_ref="1001").body["id"] == first["id"]


@time_machine.travel(NOON, tick=False)
def test_a_row_that_is_not_in_usd_needs_its_price() -> None:
    with pytest.raises(IntegrityError, match="checkout_price_is_not_usd"), transaction.atomic():
        make_checkout(currency="EUR")
    with pytest.raises(IntegrityError, match="checkout_price_is_not_usd"), transaction.atomic():
        make_checkout(price=Decimal(25))


@pytest.mark.parametrize(
    ("unit_price", "total"), [("600", "1,200"), ("600.00", None), ("600.50", None)], ids=["whole", "cents", "half"]
)
def test_line_items_of_yen_have_no_decimals(unit_price: str, total: str | None) -> None:
    metadata = f'{{"line_items":[{{"name":"Cup","quantity":2,"unit_price":"{unit_price}"}}]}}'
    items = line_items_of(metadata, amount=Decimal(1200), currency="JPY")
    assert (items and items.total) == total
    assert items is None or items.is_exact
