"""A price in euros from the API to the delivered webhook, the receipt, the refund and the month's statement; and buyers' pages of prices
in every language."""

import csv
import io
import json
from datetime import UTC
from decimal import Decimal
from typing import Any

import pytest
import standardwebhooks
from django.conf import settings as configured
from django.test import Client
from django.utils import timezone, translation
from django.utils.translation import gettext

from accounts.audit.actors import Actor
from accounts.models import Merchant
from checkouts.models import Checkout
from payouts.approvals.service import approve_payout
from payouts.following.service import follow_movements
from payouts.models import Payout
from payouts.states import PayoutStatus
from reports.months import month_of
from tests.cases import case
from tests.catalogues import LOOKED_AT
from tests.checkouts.page.test_views import page_of
from tests.checkouts.test_currencies import RATES, made, paid
from tests.checkouts.watcher import fresh, shown
from tests.contract.client import ApiClient
from tests.dashboard.people import make_desk, make_member
from tests.payouts.factories import BUYER, outflow_for, status_of
from tests.rates.playing import price_in, store_rates
from tests.waiting import wait_until
from tests.webhooks.factories import make_endpoint, secrets_of
from tests.webhooks.receiver import receiving
from tests.webhooks.senders import sending
from wallets.transfers.movements import queue_movements

# Those that write decimals with a comma: a comma between thousands would be read as one.
WITH_COMMA = {"ar", "de", "es", "fr", "id", "it", "pl", "pt", "ru", "tr", "uk", "vi"}
LANGUAGES = [code for code, _ in configured.LANGUAGES]
WORDS = ("In US dollars", "Exchange rate", "Rate from")


@pytest.fixture
def europe(seller: ApiClient, settings: Any) -> ApiClient:
    """A live key of a merchant whose prices may be in EUR and JPY, at agreed rates."""
    price_in(settings, "EUR", "JPY")
    settings.DEPEG_GUARD, settings.WEBHOOK_ALLOW_LOOPBACK = False, True
    store_rates(RATES)
    return seller


def merchant_of(shop: ApiClient) -> Merchant:
    assert shop.merchant
    return shop.merchant


# The walk.


@pytest.mark.django_db(transaction=True)
def test_a_checkout_in_euros_from_the_api_to_the_months_statement(europe: ApiClient, client: Client) -> None:
    merchant = merchant_of(europe)
    with receiving() as receiver, sending():
        make_endpoint(merchant, receiver.url)
        created = europe.created(amount="23.00", currency="EUR", order_ref="1001", description="A coffee grinder")
        checkout = Checkout.objects.get(public_id=created["id"])
        transfer = paid(checkout, 25_030_000)
        # From here on the rate must change nothing.
        store_rates({"EUR": "1.3"})
        wait_until(lambda: receiver.has_got(1))
    [got], [secret] = receiver.got, secrets_of(merchant, now=timezone.now())
    standardwebhooks.Webhook(secret).verify(got.body, dict(got.headers))
    assert got.headers["X-Service-Event"] == "checkout.completed"
    told = json.loads(got.body)["data"]
    assert (told["amount"], told["currency"], told["amount_received"]) == ("23.00", "EUR", "25.030000")
    assert told["quote"] == created["quote"] == shown(checkout)["quote"]
    assert (told["quote"]["usd_amount"], told["quote"]["rate"]) == ("25.03", "1.088260")

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

    refund = refunded(europe, checkout, "11.50")
    assert (int(refund.units), status_of(refund)) == (12_515_000, PayoutStatus.REQUESTED)
    now = timezone.now()
    approve_payout(refund, revision=refund.revision, actor=Actor(make_member(merchant)), now=now)
    # In the payment's month, also if a month ends just now.
    movement = outflow_for(refund, block_time=transfer.block_time)
    queue_movements([movement.pk], now=now)
    follow_movements(now=now)
    assert status_of(refund) == PayoutStatus.PAID
    assert europe.get(f"/refunds/{refund.public_id}").body["status"] == "paid"

    desk, month = make_desk(merchant), str(month_of(transfer.block_time, UTC))
    answer = desk.get("dashboard_month_csv", month=month, kind="accountant")
    lines = {line["kind"]: line for line in csv.DictReader(io.StringIO(answer.getvalue().decode("utf-8-sig")))}
    assert [lines[kind]["usd_value"] for kind in ("payment", "refund")] == ["25.030000", "-12.515000"]
    assert {(line["order_ref"], line["price"], line["price_currency"]) for line in lines.values()} == {
        ("1001", "23.00", "EUR")
    }
    [sums] = desk.get("dashboard_month", month=month).context["sums"]
    assert (sums.received, sums.refunded, sums.closing) == (Decimal("25.03"), Decimal("12.515"), Decimal("12.515"))


def refunded(shop: ApiClient, checkout: Checkout, amount: str) -> Payout:
    """A refund of a part of the price to the buyer's address, which waits for approval."""
    wanted = {"source": {"checkout": checkout.public_id}, "amount": amount, "currency": "EUR", "address": BUYER}
    answer = shop.post("/refunds", wanted)
    assert answer.status == 201, answer.body
    return Payout.objects.select_related("merchant").get(public_id=answer.body["id"])


# Every language.


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("amount", "currency", "written", "rate", "usd"),
    [
        ("1234.50", "EUR", "1,234.50", "1 EUR = 1.0883 USD", "1,343.46 USD"),
        ("5000", "JPY", "5,000", "1 JPY = 0.0066667 USD", "33.34 USD"),
    ],
)
def test_the_page_and_the_receipt_say_the_price_and_its_rate_in_each_language(
    europe: ApiClient, client: Client, amount: str, currency: str, written: str, rate: str, usd: str
) -> None:
    checkout = made(europe, amount, currency)
    pages = {language: page_of(client, checkout, f"?lang={language}") for language in LOOKED_AT}
    paid(checkout, int(checkout.amount * 1_000_000))
    for language, page in pages.items():
        price, dollars = (text.replace(",", " ") if language in WITH_COMMA else text for text in (written, usd))
        receipt = page_of(client, fresh(checkout), f"/receipt?lang={language}")
        with translation.override(language):
            labels = [gettext(word) for word in WORDS]
        with case(language):
            assert f"{price}<small>{currency}</small>" in page
            assert f"{price} {currency}" in receipt
            for told in (page, receipt):
                assert [words for words in (*labels, rate, dollars) if words not in told] == []
                assert f"${price}" not in told
                # What is sent is in tokens: no page says a price in yen or euros with cents that it does not have.
                assert f"{price}.00" not in told
            if language != "en":
                assert not {*labels} & {*WORDS}


def test_there_are_more_than_a_dozen_languages() -> None:
    assert len(LANGUAGES) >= 12
