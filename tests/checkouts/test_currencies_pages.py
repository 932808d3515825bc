"""What buyers and merchants read of a converted price: who said the rate and when, margins, a single source, parts, mails, exports; and
what they read once its currency was taken out of the setting."""

import csv
import io
import json
import re
from decimal import Decimal
from typing import Any
from zipfile import ZipFile

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone, translation
from django.utils.translation import gettext

from accounts.models import Merchant
from checkouts.models import Checkout, InboxItem, Quote
from checkouts.page.receipts import receipt_words
from gateway.core.times import iso
from links.models import PaymentLink
from mails.sender import send_due_mails
from rates.models import Rate
from tests.catalogues import LOOKED_AT
from tests.checkouts.euros import offer_euros
from tests.checkouts.page.test_mailing import ask
from tests.checkouts.page.test_views import BUDGET_LANGUAGES, page_of
from tests.checkouts.test_currencies import RATES, ended, made, paid
from tests.checkouts.test_currencies_walk import WITH_COMMA
from tests.checkouts.watcher import fresh, shown
from tests.contract.client import ApiClient
from tests.dashboard.people import Desk, make_desk
from tests.links.factories import make_link
from tests.links.payer import Payer
from tests.rates.playing import make_quoted, price_in, store_rates
from tests.weight import MOST_BYTES, static_files_of, weights

pytestmark = pytest.mark.django_db


@pytest.fixture
def europe(seller: ApiClient, settings: Any) -> ApiClient:
    """A live key of a merchant whose prices may be in EUR and JPY, at agreed rates."""
    price_in(settings, "EUR", "JPY")
    settings.DEPEG_GUARD = False
    store_rates(RATES)
    return seller


def desk_of(shop: ApiClient) -> Desk:
    assert shop.merchant
    return make_desk(shop.merchant)


# Who said the rate, and until when it holds.


def test_the_page_says_who_said_the_rate_when_and_until_when_it_is_fixed(europe: ApiClient, client: Client) -> None:
    store_rates({"EUR": "1.0884"}, source="coinbase")
    checkout = made(europe)
    page = page_of(client, checkout)
    first, second = checkout.quoted.evidence
    for one, rate in ((first, "1.0883"), (second, "1.0884")):
        assert f"<bdi>{one['name']}</bdi>" in page
        assert f'<bdi>{rate}</bdi> · <time datetime="{one["taken_at"][:16]}Z"' in page
    until = f"{checkout.expires_at:%Y-%m-%dT%H:%MZ}"
    assert f'<span id="pay-by"><time datetime="{until}"' in page
    assert "The exchange rate is fixed until then." in page
    paid(checkout, 25_030_000)
    receipt = page_of(client, fresh(checkout), "/receipt")
    assert '<bdi>1.0884</bdi> · <time datetime="' in receipt
    assert "fixed until" not in receipt


def test_a_price_in_dollars_has_no_rate_that_is_fixed(europe: ApiClient, client: Client) -> None:
    assert "The exchange rate is fixed" not in page_of(client, made(europe, "25.00", "USD"))


SHEET = "css/rate.css"


def test_a_page_asks_for_the_styles_of_a_rate_only_where_it_has_one(
    europe: ApiClient, client: Client, settings: Any
) -> None:
    dollars = page_of(client, made(europe, "25.00", "USD"))
    assert (SHEET in dollars, 'class="rate"' in dollars) == (False, False)
    euros = page_of(client, made(europe))
    assert (SHEET in euros, euros.count('class="rate"')) == (True, 3)
    offer_euros(settings)
    both = page_of(client, made(europe, "25.00", "USD"), "?chain=base&token=EURC")
    assert (SHEET in both, both.count('class="rate"'), "The exchange rate is fixed until then." in both) == (
        True,
        2,
        True,
    )


@pytest.mark.parametrize("language", BUDGET_LANGUAGES)
@pytest.mark.parametrize(("amount", "currency"), [("1234.50", "EUR"), ("5000", "JPY"), ("25.00", "USD")])
@pytest.mark.parametrize("takes_euros", [False, True], ids=["dollars", "EURC"])
def test_a_page_with_a_rate_weighs_no_more_than_any(
    europe: ApiClient, client: Client, settings: Any, language: str, amount: str, currency: str, takes_euros: bool
) -> None:
    Merchant.objects.update(rate_margin=Decimal("0.0150"))
    if takes_euros:
        offer_euros(settings)
    path = f"/c/{made(europe, amount, currency).code}?lang={language}"
    weighed = weights(client, path)
    assert sum(weighed.values()) <= MOST_BYTES, weighed
    # The page, and the second font that only the styles name. The sign of EURC is one more, where EURC is taken.
    assert 2 + len(static_files_of(client.get(path).text)) <= 15 + takes_euros


def test_a_single_source_is_said_on_the_page_and_on_the_receipt(
    europe: ApiClient, client: Client, settings: Any
) -> None:
    words = "No second source confirmed it."
    assert words not in page_of(client, made(europe))
    settings.RATE_SINGLE_SOURCE = True
    Rate.objects.exclude(source="kraken").delete()
    checkout = made(europe, "24.00")
    assert [one["name"] for one in shown(checkout)["quote"]["sources"]] == ["kraken"]
    assert words in page_of(client, checkout)
    paid(checkout, int(checkout.amount * 1_000_000))
    assert words in page_of(client, fresh(checkout), "/receipt")


def test_a_margin_is_shown_to_buyer_and_merchant_and_is_in_the_file(europe: ApiClient, client: Client) -> None:
    Merchant.objects.update(rate_margin=Decimal("0.0150"))
    checkout, desk = made(europe), desk_of(europe)
    assert 'Seller\'s margin</dt> <dd class="number"> <bdi>1.5 %</bdi>' in page_of(client, checkout)
    page = desk.get("dashboard_checkout", checkout_id=checkout.public_id).text
    for words in ("Converted once to", "25.41 USD", "1 EUR by kraken", "1.088260 USD", "Your margin", "1.5 %"):
        assert words in page
    [row] = csv.DictReader(io.StringIO(desk.get("dashboard_checkouts_csv").getvalue().decode("utf-8-sig")))
    assert (row["rate_margin"], row["rate_taken_at"]) == ("0.0150", iso(checkout.quoted.taken_at))
    paid(checkout, 25_410_000)
    assert "1.5 %" in page_of(client, fresh(checkout), "/receipt")
    written = receipt_words(checkout.public_id)
    assert written
    assert "Seller's margin: 1.5 %" in written.text


def test_the_export_of_all_data_has_each_quote_with_its_sources_and_time(merchant: Merchant, owner: Desk) -> None:
    quote = make_quoted(merchant).quoted
    archive = ZipFile(io.BytesIO(b"".join(owner.post("dashboard_download_data").streaming_content)))
    [row] = csv.DictReader(io.StringIO(archive.read("quotes.csv").decode("utf-8-sig")))
    assert (row["checkout_public_id"], row["price"], row["usd_amount"]) == (quote.checkout.public_id, "23.00", "25.03")
    assert json.loads(row["sources"]) == quote.evidence
    assert row["taken_at"].startswith("2026-11-20")


# Parts, lists and mails.


def test_a_part_is_said_of_the_price_in_its_own_currency(europe: ApiClient, client: Client) -> None:
    checkout = made(europe)
    paid(checkout, 20_000_000)
    page = page_of(client, fresh(checkout))
    assert "of 23.00 EUR (25.03 USD)" in page
    assert '<progress max="25.03"' in page
    assert "Only 20.00 USDC of 23.00 EUR (25.03 USD) arrived in time." in page_of(client, ended(fresh(checkout)))


def test_a_part_of_a_price_in_dollars_is_said_as_before(europe: ApiClient, client: Client) -> None:
    checkout = made(europe, "25.00", "USD")
    paid(checkout, 20_000_000)
    assert re.search(r"<span> ?of 25\.00 ?</span>", page_of(client, fresh(checkout)))


def test_lists_of_links_and_of_the_inbox_name_the_currency(europe: ApiClient) -> None:
    desk, body = desk_of(europe), {"title": "Workshop", "amount": "23.00", "currency": "EUR"}
    link = europe.post("/links", body).body
    Payer(Client()).pay(f"/p/{PaymentLink.objects.get().code}")
    assert "Amount, USD unless named" in desk.get("dashboard_links").text
    detail = " ".join(desk.get("dashboard_link", link_id=link["id"]).text.split())
    assert '25.03 <small class="line faint">23.00 EUR</small>' in detail
    assert Checkout.objects.get().asked == "23.00 EUR (25.03 USD)"


def test_an_item_of_the_inbox_names_the_price_of_its_checkout(europe: ApiClient) -> None:
    checkout = made(europe)
    for _ in range(2):
        paid(checkout, 25_030_000)
    item = InboxItem.objects.get(checkout=checkout)
    page = desk_of(europe).get("dashboard_inbox_item", item_id=item.pk).text
    assert "23.00 EUR (25.03 USD), completed" in page


@pytest.mark.parametrize("language", LOOKED_AT)
def test_links_and_mails_say_the_price_in_its_currency_in_each_language(
    europe: ApiClient, client: Client, language: str
) -> None:
    price = "1 234.50 EUR" if language in WITH_COMMA else "1,234.50 EUR"
    yen = make_link(europe.merchant, amount=5000, currency="JPY")
    assert ("5 000" if language in WITH_COMMA else "5,000") in Payer(client).look(f"/p/{yen.code}?lang={language}")
    checkout = made(europe, "1234.50")
    ask(client, checkout, query=f"?lang={language}")
    send_due_mails(now=timezone.now())
    [sent] = mail.outbox
    assert price in sent.body.replace("\N{NO-BREAK SPACE}", " ")
    paid(checkout, int(checkout.amount * 1_000_000))
    with translation.override(language):
        written, label = receipt_words(checkout.public_id), gettext("Rate from")
    assert written
    assert price in written.text.replace("\N{NO-BREAK SPACE}", " ")
    assert f"{label}: kraken: 1.0883, " in written.text


# A currency that was taken out of the setting.


def test_a_link_in_a_currency_that_was_taken_out_says_so_at_once(
    europe: ApiClient, client: Client, settings: Any
) -> None:
    link = europe.post("/links", {"title": "Workshop", "amount": "23.00", "currency": "EUR"}).body
    path, payer = f"/p/{PaymentLink.objects.get().code}", Payer(client)
    form = payer.form(path)
    price_in(settings, "JPY")
    for page in (payer.look(path), payer.press(path, form).content.decode()):
        assert "Payments in EUR have stopped" in page
        assert "takes no new payments in EUR." in " ".join(page.split())
        assert 'name="form"' not in page
    assert not Checkout.objects.exists()
    desk = desk_of(europe)
    assert "prices in EUR are no longer converted" in desk.get("dashboard_link", link_id=link["id"]).text
    price_in(settings, "EUR", "JPY")
    assert payer.pay(path).price == Decimal("23.00")


def test_an_invoice_that_was_begun_goes_on_after_its_currency_was_taken_out(
    europe: ApiClient, client: Client, settings: Any
) -> None:
    body = {"type": "invoice", "title": "Workshop", "amount": "23.00", "currency": "EUR"}
    path = f"/p/{PaymentLink.objects.get(public_id=europe.post('/links', body).body['id']).code}"
    begun = Payer(client).pay(path)
    price_in(settings, "JPY")
    assert begun.code in client.get(path)["Location"]
    paid(begun, 25_030_000)
    assert shown(begun)["status"] == "completed"
    assert "This invoice is paid" in Payer(client).look(path)


def test_a_link_keeps_its_fields_to_change_after_its_currency_was_taken_out(europe: ApiClient, settings: Any) -> None:
    link = europe.post("/links", {"title": "Workshop", "amount": "1200", "currency": "JPY"}).body
    price_in(settings, "EUR")
    path = f"/links/{link['id']}"
    changed = europe.send("PATCH", path, {"title": "Course"})
    assert (changed.status, changed.body["title"], changed.body["amount"]) == (200, "Course", "1200")
    assert europe.send("PATCH", path, {"amount": "1300"}).body["amount"] == "1300"
    refused = europe.send("PATCH", path, {"amount": "13.50"})
    assert (refused.status, refused.code) == (400, "amount_invalid")
    refused = europe.send("PATCH", path, {"currency": "EUR"})
    assert (refused.status, refused.error["param"]) == (400, "currency")
    desk = desk_of(europe)
    assert desk.get("dashboard_edit_link", link_id=link["id"]).status_code == 200


def test_starting_again_ends_with_its_currency_and_says_what_to_do(
    europe: ApiClient, client: Client, settings: Any
) -> None:
    Merchant.objects.update(buyers_may_retry=True)
    checkout = ended(made(europe))
    assert f"/c/{checkout.code}/again" in page_of(client, checkout)
    price_in(settings, "JPY")
    page = page_of(client, checkout)
    assert f"/c/{checkout.code}/again" not in page
    assert "Go back to Halden Roasters to start again." in page
    answer = client.post(f"/c/{checkout.code}/again")
    assert (answer.status_code, answer["Location"]) == (303, f"/c/{checkout.code}")
    assert Checkout.objects.count() == 1


def test_an_open_checkout_is_paid_after_its_currency_was_taken_out(
    europe: ApiClient, client: Client, settings: Any
) -> None:
    checkout = made(europe)
    settings.PRICE_CURRENCIES, settings.RATE_SOURCES = [], []
    assert "1 EUR = 1.0883 USD" in page_of(client, checkout)
    paid(checkout, 25_030_000)
    told = shown(checkout)
    assert (told["status"], told["amount"], told["currency"]) == ("completed", "23.00", "EUR")
    assert Quote.objects.get().checkout_id == checkout.pk
