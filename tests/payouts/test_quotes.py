"""Payouts asked for in another currency: converted once, at the rate of that minute, and repeated whatever the rate is then."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from payouts.export import tables
from payouts.lifecycle import service
from payouts.lifecycle.quotes import new_quote
from payouts.lifecycle.service import Terms, request_payout
from payouts.models import Payout
from rates.models import Rate
from tests.contract.client import Answer, ApiClient
from tests.dashboard.people import Desk
from tests.payouts.factories import BUYER, USDC, make_paid, refund_of
from tests.rates.playing import price_in, store_rates

pytestmark = pytest.mark.django_db

RATES = {"EUR": "1.088260", "JPY": "0.006666666667"}
WAGE: dict[str, Any] = {"amount": "23.00", "currency": "EUR", "address": BUYER} | USDC


@pytest.fixture
def europe(seller: ApiClient, settings: Any) -> ApiClient:
    """A live key of a merchant whose amounts may be in EUR and JPY, at agreed rates."""
    price_in(settings, "EUR", "JPY")
    settings.DEPEG_GUARD = False
    store_rates(RATES)
    return seller


def asked(shop: ApiClient, **fields: Any) -> Answer:
    """The answer to a payout of 23.00 EUR unless told otherwise."""
    return shop.post("/payouts", WAGE | fields)


def test_a_payout_in_euros_is_converted_once_and_keeps_the_evidence(europe: ApiClient) -> None:
    # Its margin is for what buyers pay.
    Merchant.objects.update(rate_margin=Decimal("0.0150"))
    made = asked(europe, metadata={"desk": 7})
    assert made.status == 201, made.body
    assert (made.body["amount"], made.body["token"], made.body["metadata"]) == ("25.030000", "USDC", {"desk": 7})
    quote = made.body["quote"]
    assert set(quote) == {"amount", "currency", "usd_amount", "rate", "sources", "taken_at"}
    assert (quote["amount"], quote["currency"], quote["usd_amount"]) == ("23.00", "EUR", "25.03")
    assert (quote["rate"], quote["taken_at"]) == ("1.088260", quote["sources"][0]["taken_at"])
    sources = [(one["name"], one["rate"]) for one in quote["sources"]]
    assert sources == [("kraken", "1.088260"), ("coinbase", "1.088260")]
    store_rates({"EUR": "1.2"})
    assert europe.get(f"/payouts/{made.body['id']}").body == made.body
    assert int(Payout.objects.get().units) == 25_030_000


@pytest.mark.parametrize(
    ("amount", "currency", "paid"),
    [
        ("0.01", "EUR", "0.020000"),
        ("100", "EUR", "108.830000"),
        ("10000.00", "EUR", "10882.600000"),
        ("1", "JPY", "0.010000"),
        ("1200", "JPY", "8.010000"),
    ],
)
def test_what_is_paid_is_rounded_up_to_a_cent(europe: ApiClient, amount: str, currency: str, paid: str) -> None:
    body = asked(europe, amount=amount, currency=currency).body
    assert body["amount"] == paid
    quote = body["quote"]
    assert Decimal(quote["usd_amount"]) == Decimal(paid)
    assert 0 <= Decimal(quote["usd_amount"]) - Decimal(amount) * Decimal(quote["rate"]) < Decimal("0.01")


def test_a_dollar_is_a_token_and_needs_no_quote(seller: ApiClient) -> None:
    first = asked(seller, amount="25.5", currency="USD", reference="wage-1")
    assert (first.status, first.body["amount"], first.body["quote"]) == (201, "25.500000", None)
    for currency in ("USD", None):
        again = asked(seller, amount="25.50", currency=currency, reference="wage-1")
        assert (again.status, again.body) == (200, first.body)


# Repeats.


def test_a_repeat_gets_the_first_although_the_rate_moved_and_although_there_is_none(europe: ApiClient) -> None:
    first = asked(europe, reference="wage-1")
    store_rates({"EUR": "1.2"})
    again = asked(europe, reference="wage-1")
    Rate.objects.all().delete()
    third = asked(europe, amount="23", reference="wage-1")
    assert [one.status for one in (first, again, third)] == [201, 200, 200]
    assert again.body == third.body == first.body
    assert Payout.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"amount": "23.01"},
        {"currency": "JPY", "amount": "23"},
        {"currency": "USD", "amount": "25.03"},
        {"currency": None, "amount": "25.03"},
        {"currency": None},
    ],
)
def test_another_amount_or_currency_of_a_reference_is_refused(europe: ApiClient, other: dict[str, Any]) -> None:
    asked(europe, reference="wage-1")
    # Also while there is no rate.
    Rate.objects.all().delete()
    assert asked(europe, reference="wage-1", **other).refusal == (409, "duplicate", "reference")


def test_a_reference_of_tokens_names_no_euros(europe: ApiClient) -> None:
    asked(europe, currency=None, reference="wage-1")
    assert asked(europe, reference="wage-1").refusal == (409, "duplicate", "reference")


def test_a_repeat_at_another_rate_that_comes_while_the_first_is_written_gets_the_first(
    europe: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[Any] = []

    def after_the_first(*given: Any, **named: Any) -> dict[str, Any]:
        monkeypatch.setattr(service, "new_quote", new_quote)
        first.append(asked(europe, reference="wage-1").body)
        store_rates({"EUR": "1.2"})
        return new_quote(*given, **named)

    monkeypatch.setattr(service, "new_quote", after_the_first)
    again = asked(europe, reference="wage-1")
    assert (again.status, [again.body]) == (200, first)
    assert Payout.objects.count() == 1


# What is refused.


def test_while_there_is_no_agreed_rate_nothing_is_made_and_dollars_go_on(europe: ApiClient) -> None:
    Rate.objects.filter(source="coinbase", currency="EUR").update(rate=Decimal("1.121"))
    refused = asked(europe, reference="wage-1")
    assert refused.refusal == (503, "rate_unavailable", "currency")
    assert refused.headers["Retry-After"] == "60"
    assert not Payout.objects.exists()
    assert asked(europe, currency="JPY", amount="1200").status == 201
    assert asked(europe, currency=None).status == 201
    store_rates(RATES)
    assert asked(europe, reference="wage-1").status == 201


def test_an_old_rate_is_none(europe: ApiClient) -> None:
    store_rates(RATES, now=timezone.now() - timedelta(minutes=4))
    assert asked(europe).refusal == (503, "rate_unavailable", "currency")


def test_other_currencies_than_the_installations_are_refused(europe: ApiClient, settings: Any) -> None:
    for currency in ("GBP", "XXX", "eur", "", 1, ["EUR"]):
        assert asked(europe, currency=currency).refusal == (400, "currency_unsupported", "currency")
    settings.PRICE_CURRENCIES = []
    assert asked(europe).refusal == (400, "currency_unsupported", "currency")
    assert asked(europe, currency="USD").status == 201
    assert Payout.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"amount": "0"}, ("amount_out_of_range", "amount")),
        ({"amount": "9" * 400}, ("amount_out_of_range", "amount")),
        # Its worth is more than there is of any token.
        ({"amount": "1000000000000000"}, ("amount_out_of_range", "amount")),
        ({"amount": "23.001"}, ("amount_invalid", "amount")),
        ({"amount": "1200.5", "currency": "JPY"}, ("amount_invalid", "amount")),
        ({"amount": 23}, ("amount_not_string", "amount")),
        # A euro of tokens is none of dollars.
        ({"token": "EURC"}, ("token_unsupported", "token")),
    ],
)
def test_what_is_no_such_amount_is_refused(europe: ApiClient, fields: dict[str, Any], refused: tuple[str, str]) -> None:
    assert asked(europe, **fields).refusal == (400, *refused)
    assert not Payout.objects.exists()


# Where it is shown.


def test_the_page_and_the_export_show_what_was_asked_for(owner: Desk, settings: Any) -> None:
    price_in(settings, "EUR")
    store_rates(RATES)
    payout = request_payout(
        owner.merchant,
        mode=Mode.LIVE,
        amount=Decimal("1234.50"),
        currency="EUR",
        terms=Terms(address=BUYER, **USDC),
        now=timezone.now(),
    ).payout
    page = owner.get("dashboard_payout", payout_id=payout.public_id).text
    for words in ("1,234.50 EUR", "1,343.46 USD", "1 EUR by kraken", "1 EUR by coinbase", "1.088260 USD"):
        assert words in page
    payouts = next(table for table in tables(owner.merchant) if table.name == "payouts")
    [row] = payouts.rows
    assert payouts.header[-1] == "quote"
    assert '"currency": "EUR"' in str(row[-1])


def test_a_refund_has_no_quote_of_its_own(owner: Desk) -> None:
    payout = refund_of(make_paid(owner.merchant), address=BUYER).payout
    assert payout.quote is None
    assert "Converted once to" not in owner.get("dashboard_payout", payout_id=payout.public_id).text
