"""All built-in sources together, from what they answer to a checkout; and what a checkout gets while one of them lies, hangs or is away."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine

from rates import selectors, service, sources
from rates.models import Rate
from rates.selectors import forget, policy
from rates.service import fetch_rates
from rates.sources import BitPay, Bitstamp, Coinbase, EuropeanCentralBank, Kraken, SourceClient
from tests.contract.client import Answer, ApiClient, client_of
from tests.factories import NOON
from tests.rates.playing import playing, price_in, recorded
from tests.rates.test_sources import DEFAULT
from tests.webhooks.receiver import Got, Reply

pytestmark = pytest.mark.django_db

Answering = Callable[[Got], Reply]


@pytest.fixture(autouse=True)
def _default_sources(settings: Any) -> Iterator[None]:
    """Prices in three currencies by the sources of the default, at noon; some seconds after the tickers of Bitstamp."""
    price_in(settings, "EUR", "JPY", "BRL")
    settings.RATE_SOURCES, settings.WEBHOOK_ALLOW_LOOPBACK = [*DEFAULT], True
    with time_machine.travel(NOON, tick=False):
        yield
    forget()


def fetched(monkeypatch: pytest.MonkeyPatch, reply: Answering = recorded, *, minutes: int = 0) -> set[str]:
    """Ask all sources in one pass; return those that had a word about EUR in it."""
    at = NOON + timedelta(minutes=minutes)
    with playing(reply) as (base, _):
        played: list[SourceClient] = [
            Kraken(base),
            Coinbase(base),
            Bitstamp(base),
            BitPay(base),
            EuropeanCentralBank(base),
        ]
        assert [one.name for one in played] == [*DEFAULT]
        monkeypatch.setattr(service, "sources", lambda: played)
        fetch_rates(clock=lambda: at)
    forget()
    return set(Rate.objects.filter(currency="EUR", fetched_at=at).values_list("source", flat=True))


def of_kraken(got: Got) -> bool:
    return got.path.startswith("/0/public")


def without(*names: str) -> Answering:
    """Services of which the named ones answer with an error."""
    paths = {"kraken": "/0/", "coinbase": "/v2/", "bitstamp": "/api/v2/", "bitpay": "/rates/", "ecb": "/stats/"}
    away = tuple(paths[name] for name in names)
    return lambda got: Reply(503) if got.path.startswith(away) else recorded(got)


def sold(seller: ApiClient, currency: str = "EUR", amount: str = "23.00") -> Answer:
    return seller.create(amount=amount, currency=currency)


def quoted(answer: Answer) -> tuple[str, list[str]]:
    assert answer.status == 201, answer.body
    quote = answer.body["quote"]
    return quote["usd_amount"], [one["name"] for one in quote["sources"]]


def test_the_recorded_answers_of_all_sources_make_a_price_in_each_currency(
    seller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fetched(monkeypatch) == {*DEFAULT}
    assert quoted(sold(seller)) == ("25.03", ["kraken", "coinbase"])
    assert quoted(sold(seller, "JPY", "1200")) == ("8.01", ["kraken", "coinbase"])
    # Neither Kraken nor Bitstamp trades it.
    assert quoted(sold(seller, "BRL", "100.00")) == ("18.49", ["coinbase", "bitpay"])


@pytest.mark.parametrize(
    ("away", "evidence"),
    [
        (["kraken"], ["coinbase", "bitstamp"]),
        (["coinbase"], ["kraken", "bitstamp"]),
        (["kraken", "coinbase"], ["bitstamp", "bitpay"]),
        (["kraken", "coinbase", "bitstamp"], None),
        (["ecb"], None),
    ],
)
def test_a_price_needs_two_sources_and_the_daily_one(
    seller: ApiClient, monkeypatch: pytest.MonkeyPatch, away: list[str], evidence: list[str] | None
) -> None:
    assert fetched(monkeypatch, without(*away)) == {*DEFAULT} - {*away}
    answer = sold(seller)
    if evidence is None:
        assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "rate_unavailable", "60")
        assert seller.create().status == 201
    else:
        assert quoted(answer)[1] == evidence


def test_a_source_that_hangs_keeps_no_other_from_being_fresh(
    seller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SECONDS", 0.3)
    never = threading.Event()
    try:
        told = fetched(monkeypatch, lambda got: Reply(release=never) if of_kraken(got) else recorded(got))
    finally:
        never.set()
    assert told == {*DEFAULT} - {"kraken"}
    assert quoted(sold(seller))[1] == ["coinbase", "bitstamp"]


def test_a_source_that_redirects_is_silent_and_the_others_go_on(
    seller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = Reply(302, headers={"Location": "/v2/exchange-rates?currency=USD"})
    assert fetched(monkeypatch, lambda got: moved if of_kraken(got) else recorded(got)) == {*DEFAULT} - {"kraken"}
    assert quoted(sold(seller))[1] == ["coinbase", "bitstamp"]


def test_a_first_source_that_lies_stops_prices(seller: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def lying(got: Got) -> Reply:
        told = recorded(got)
        return Reply(200, body=told.body.replace(b"1.088", b"1.121")) if of_kraken(got) else told

    assert fetched(monkeypatch, lying) == {*DEFAULT}
    assert (sold(seller).status, sold(seller).code) == (503, "rate_unavailable")


def test_sources_that_go_away_are_believed_for_three_minutes(
    seller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched(monkeypatch)
    # In test mode no chain has to be read for a checkout to offer it.
    seller = client_of(seller.merchant)
    for minutes, status in ((2, 201), (4, 503)):
        assert fetched(monkeypatch, without(*DEFAULT), minutes=minutes) == set()
        with time_machine.travel(NOON + timedelta(minutes=minutes), tick=False):
            assert sold(seller).status == status


def test_a_ticker_with_a_time_is_old_once_it_stands_still_and_an_answer_without_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Only the second source and the daily bound can notice a service without times that repeats its last number.
    fetched(monkeypatch)
    fetched(monkeypatch, minutes=10)
    at = NOON + timedelta(minutes=10)
    readings = selectors.readings_of(["EUR"])["EUR"]
    fresh = {one.source for one in readings if at - one.taken_at <= policy().most_age}
    assert fresh == {"kraken", "coinbase", "bitpay"}


@pytest.mark.parametrize(("bitstamp", "offered"), [(b"0.97", {"USDT"}), (b"0.99", {"USDC", "USDT"})])
def test_usdc_below_its_peg_is_seen_by_kraken_and_bitstamp(
    seller: ApiClient, monkeypatch: pytest.MonkeyPatch, bitstamp: bytes, offered: set[str]
) -> None:
    def fallen(got: Got) -> Reply:
        body = recorded(got).body
        if of_kraken(got) and "USDC" in got.path:
            return Reply(200, body=body.replace(b"0.999", b"0.969"))
        return Reply(200, body=body.replace(b"0.99976", bitstamp).replace(b"0.99984", bitstamp + b"1"))

    fetched(monkeypatch, fallen)
    told = {one.source: one.rate for one in selectors.readings_of(["USDC"])["USDC"]}
    assert set(told) == {"kraken", "coinbase", "bitstamp"}
    assert (told["coinbase"], told["kraken"]) == (Decimal(1), Decimal("0.96985"))
    answer = seller.create()
    assert {token for option in answer.body["available_chains"] for token in option["tokens"]} == offered
