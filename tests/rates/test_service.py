"""What the task fetches, keeps, and tells operators."""

import operator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from cachetools import TTLCache
from django.core.checks import run_checks

from gateway.core.api.errors import UnavailableError
from gateway.processes.timetable import TIMETABLE
from mails.models import OutgoingMail
from rates import selectors, service
from rates.models import Rate, RateTrouble
from rates.rule import RateRefusal
from rates.selectors import SHOWN_SECONDS, forget, quotable_currencies, weak_tokens, worth_of
from rates.service import KEPT, MAIL_AFTER, fetch_rates, note_troubles
from rates.sources import EVERY, Coinbase, EuropeanCentralBank, Fixed
from tests.contract.client import ApiClient
from tests.factories import NOON
from tests.gateway.operator.people import make_operator
from tests.rates.playing import ANSWERS, playing, price_in, store_rates
from tests.rates.test_sources import DEFAULT
from tests.webhooks.receiver import Got, Reply

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def own_servers(settings: Any, *urls: str) -> None:
    """Two own servers cannot share a host, so one is called by its name."""
    settings.PRICE_CURRENCIES, settings.WEBHOOK_ALLOW_LOOPBACK = ["EUR"], True
    settings.RATE_SOURCES = [f"url:{url}" for url in urls]
    settings.DEPEG_GUARD = False
    forget()


def euro(rate: str) -> Any:
    return lambda _: Reply(200, body=f'{{"EUR": "{rate}"}}'.encode())


def refused(now: datetime = NOON) -> str:
    with pytest.raises(UnavailableError) as error:
        worth_of(Decimal("23.00"), "EUR", margin=Decimal(0), now=now)
    assert error.value.headers() == {"Retry-After": "60"}
    return str(error.value.code)


def test_two_sources_that_agree_make_a_rate(settings: Any) -> None:
    with playing(euro("1.08826")) as (one, _), playing(euro("1.08841")) as (other, _):
        own_servers(settings, one, other.replace("127.0.0.1", "localhost"))
        assert fetch_rates(clock=lambda: NOON) == 2
    worth = worth_of(Decimal("23.00"), "EUR", margin=Decimal(0), now=NOON)
    assert worth.usd == Decimal("25.03")
    assert [one.rate for one in worth.agreed.evidence] == [Decimal("1.08826"), Decimal("1.08841")]
    assert RateTrouble.objects.count() == 0


def test_a_source_that_lies_by_three_per_cent_stops_prices_until_it_tells_the_truth(settings: Any) -> None:
    said = {"rate": "1.121"}

    def second(_: Got) -> Reply:
        return Reply(200, body=f'{{"EUR": "{said["rate"]}"}}'.encode())

    with playing(euro("1.08826")) as (one, _), playing(second) as (other, _):
        own_servers(settings, one, other.replace("127.0.0.1", "localhost"))
        fetch_rates(clock=lambda: NOON)
        assert refused() == "rate_unavailable"
        [trouble] = RateTrouble.objects.all()
        assert (trouble.currency, trouble.reason, trouble.ended_at) == ("EUR", RateRefusal.DISAGREE, None)
        assert [told["rate"] for told in trouble.readings] == ["1.088260", "1.121000"]
        said["rate"] = "1.0884"
        fetch_rates(clock=lambda: NOON + MINUTE)
    assert worth_of(Decimal(1), "EUR", margin=Decimal(0), now=NOON + MINUTE).usd == Decimal("1.09")
    trouble.refresh_from_db()
    assert trouble.ended_at == NOON + MINUTE


def test_what_a_source_said_last_is_not_used_once_it_is_old(settings: Any) -> None:
    price_in(settings, "EUR")
    store_rates({"EUR": "1.09"}, now=NOON)
    assert worth_of(Decimal(1), "EUR", margin=Decimal(0), now=NOON + 2 * MINUTE).usd == Decimal("1.09")
    assert refused(NOON + 3 * MINUTE) == "rate_unavailable"


def test_a_slow_pass_writes_nothing_over_a_later_one(settings: Any) -> None:
    with playing(euro("1.2")) as (one, _):
        own_servers(settings, one)
        fetch_rates(clock=lambda: NOON + MINUTE)
    with playing(euro("1.1")) as (one, _):
        own_servers(settings, one)
        assert fetch_rates(clock=lambda: NOON) == 0
    assert Rate.objects.get().rate == Decimal("1.2")


def test_what_a_worker_with_a_wrong_clock_stored_gives_way_to_the_next_pass(settings: Any) -> None:
    with playing(euro("1.2")) as (one, _):
        own_servers(settings, one)
        assert fetch_rates(clock=lambda: NOON + timedelta(days=30)) == 1
        assert fetch_rates(clock=lambda: NOON) == 1
    assert Rate.objects.get().taken_at == NOON


def test_the_daily_rates_are_asked_for_once_an_hour_whatever_currencies_are_added(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    price_in(settings, "EUR")
    settings.DEPEG_GUARD, settings.WEBHOOK_ALLOW_LOOPBACK = False, True
    with playing() as (base, server):
        monkeypatch.setattr(service, "sources", lambda: [EuropeanCentralBank(base)])
        fetch_rates(clock=lambda: NOON)
        # The bank lists JPY, and not AED.
        price_in(settings, "EUR", "JPY", "AED")
        for minutes in (1, 2, 59):
            fetch_rates(clock=partial(operator.add, NOON, minutes * MINUTE))
        assert len(server.got) == 1
        # An answer is an hour old at the latest.
        fetch_rates(clock=lambda: NOON + 60 * MINUTE)
        assert len(server.got) == 2
    told = Rate.objects.filter(currency__in=["EUR", "JPY", "AED"])
    assert set(told.values_list("currency", flat=True)) == {"EUR", "JPY"}


def test_a_daily_rate_of_the_future_takes_no_place(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    price_in(settings, "EUR")
    settings.DEPEG_GUARD, settings.WEBHOOK_ALLOW_LOOPBACK = False, True
    told = (ANSWERS / "ecb.xml").read_bytes()
    said = {"told": told.replace(b"2026-11-19", b"2099-11-19")}
    with playing(lambda _: Reply(200, body=said["told"])) as (base, _):
        monkeypatch.setattr(service, "sources", lambda: [EuropeanCentralBank(base)])
        assert fetch_rates(clock=lambda: NOON) == 0
        said["told"] = told
        assert fetch_rates(clock=lambda: NOON + MINUTE) > 0
    assert Rate.objects.get(currency="EUR").taken_at.isoformat() == "2026-11-19T00:00:00+00:00"


@pytest.mark.parametrize("rates", ['{"EUR": "0.0000000000001"}', "null"], ids=["inverse too large", "no rates"])
def test_a_source_that_answers_nonsense_keeps_no_other_from_being_heard(
    rates: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    price_in(settings, "EUR")
    settings.DEPEG_GUARD, settings.WEBHOOK_ALLOW_LOOPBACK = False, True
    body = f'{{"data": {{"currency": "USD", "rates": {rates}}}}}'.encode()
    with playing(lambda _: Reply(200, body=body)) as (base, _):
        monkeypatch.setattr(service, "sources", lambda: [Coinbase(base), Fixed({"EUR": Decimal("1.09")})])
        assert fetch_rates(clock=lambda: NOON) == 1
    assert Rate.objects.get().source == "fixed"


def test_a_large_price_needs_closer_sources(settings: Any) -> None:
    price_in(settings, "EUR")
    store_rates({"EUR": "1.000"}, now=NOON, source="kraken")
    store_rates({"EUR": "1.007"}, now=NOON, source="coinbase")
    assert worth_of(Decimal("9999.99"), "EUR", margin=Decimal(0), now=NOON).usd == Decimal("9999.99")
    with pytest.raises(UnavailableError):
        worth_of(Decimal("10000.00"), "EUR", margin=Decimal(0), now=NOON)


def test_without_sources_nothing_is_asked_and_nothing_noted(settings: Any) -> None:
    settings.PRICE_CURRENCIES, settings.RATE_SOURCES = [], []
    assert fetch_rates(clock=lambda: NOON) == 0
    assert not Rate.objects.exists()
    assert not RateTrouble.objects.exists()


def test_operators_are_mailed_once_of_a_trouble_that_lasts(settings: Any) -> None:
    price_in(settings, "EUR")
    make_operator()
    OutgoingMail.objects.all().delete()
    assert note_troubles(now=NOON) == 1
    assert not OutgoingMail.objects.exists()
    for minutes in (10, 11, 12):
        note_troubles(now=NOON + minutes * MINUTE)
    assert MAIL_AFTER == 10 * MINUTE
    assert [mail.subject for mail in OutgoingMail.objects.all()] == ["Prices in EUR cannot be converted"]


def test_troubles_are_forgotten_after_thirty_days(settings: Any) -> None:
    price_in(settings, "EUR")
    note_troubles(now=NOON)
    store_rates({"EUR": "1.09"}, now=NOON + MINUTE)
    note_troubles(now=NOON + MINUTE)
    assert RateTrouble.objects.count() == 1
    settings.PRICE_CURRENCIES = []
    note_troubles(now=NOON + KEPT + 2 * MINUTE)
    assert not RateTrouble.objects.exists()


def test_a_token_below_its_peg_is_known_without_a_query_where_nothing_guards_it(
    settings: Any, django_assert_num_queries: Any
) -> None:
    settings.PRICE_CURRENCIES, settings.RATE_SOURCES, settings.DEPEG_GUARD = [], [], None
    forget()
    with django_assert_num_queries(0):
        assert weak_tokens() == frozenset()
    price_in(settings, "EUR")
    store_rates({"USDC": "0.97", "USDT": "0.999"})
    assert weak_tokens() == {"USDC"}
    with django_assert_num_queries(0):
        assert weak_tokens() == {"USDC"}


def test_currencies_are_listed_with_their_rates_and_without_a_key(settings: Any) -> None:
    price_in(settings, "EUR", "JPY", "GBP")
    store_rates({"EUR": "1.08826", "JPY": "0.006666666667"})
    answer = ApiClient().get("/currencies")
    assert answer.status == 200
    usd, eur, jpy, gbp = answer.body["data"]
    assert usd == {"currency": "USD", "decimals": 2, "usd_rate": "1.000000", "taken_at": None, "sources": []}
    assert (eur["currency"], eur["decimals"], eur["usd_rate"]) == ("EUR", 2, "1.088260")
    assert [one["name"] for one in eur["sources"]] == ["kraken", "coinbase"]
    assert (jpy["decimals"], jpy["usd_rate"]) == (0, "0.006666666667")
    assert (gbp["usd_rate"], gbp["taken_at"], gbp["sources"]) == (None, None, [])


def test_the_list_of_currencies_is_kept_for_a_while_here_and_by_clients(
    settings: Any, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    price_in(settings, "EUR")
    store_rates({"EUR": "1.08826"})
    clock, kept = {"now": 1_000.0}, selectors.quotable_currencies.cache
    assert isinstance(kept, TTLCache)
    monkeypatch.setattr(kept.timer, "_Timer__timer", lambda: clock["now"])
    forget()

    def rate() -> Any:
        return ApiClient().get("/currencies").body["data"][1]["usd_rate"]

    assert rate() == "1.088260"
    Rate.objects.update(rate=Decimal("1.1"))
    clock["now"] += SHOWN_SECONDS - 1
    with django_assert_num_queries(0):
        answer = ApiClient().get("/currencies")
    assert answer.body["data"][1]["usd_rate"] == "1.088260"
    # Kept as long once more, it is half a minute old at most.
    assert answer.headers["Cache-Control"] == f"private, max-age={SHOWN_SECONDS}"
    assert 2 * SHOWN_SECONDS == 30
    clock["now"] += 1
    assert rate() == "1.100000"
    forget()


def test_without_the_setting_only_usd_is_listed(settings: Any) -> None:
    settings.PRICE_CURRENCIES, settings.RATE_SOURCES = [], []
    forget()
    assert [one["currency"] for one in ApiClient().get("/currencies").body["data"]] == ["USD"]
    assert [one.currency for one in quotable_currencies()] == ["USD"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"PRICE_CURRENCIES": ["KWD"]}, ["rates.E001"]),
        ({"PRICE_CURRENCIES": ["USD"]}, ["rates.E001"]),
        ({"RATE_SOURCES": ["binance"]}, ["rates.E002"]),
        ({"RATE_SOURCES": ["kraken", "ecb"], "DEPEG_GUARD": False}, ["rates.E003"]),
        ({"RATE_SOURCES": ["kraken"], "RATE_SINGLE_SOURCE": True}, ["rates.W001", "rates.W002"]),
        (
            {"RATE_SOURCES": ["kraken", "coinbase", "ecb"], "PRICE_CURRENCIES": ["BRL"], "DEPEG_GUARD": False},
            ["rates.E007"],
        ),
        (
            {
                "RATE_SOURCES": ["kraken", "coinbase", "bitpay", "ecb"],
                "PRICE_CURRENCIES": ["BRL"],
                "DEPEG_GUARD": False,
            },
            [],
        ),
        ({"PRICE_CURRENCIES": ["SEK"], "RATE_SINGLE_SOURCE": True}, []),
        (
            {
                "RATE_SOURCES": ["fixed:EUR=1.09"],
                "PRICE_CURRENCIES": ["GBP"],
                "RATE_SINGLE_SOURCE": True,
                "DEPEG_GUARD": False,
            },
            ["rates.E007", "rates.W001"],
        ),
        ({"RATE_SOURCES": [*DEFAULT], "PRICE_CURRENCIES": ["AED", "BRL"]}, ["rates.W003"]),
        ({"RATE_SOURCES": [*DEFAULT], "PRICE_CURRENCIES": ["BRL", "SEK", "PLN", "INR", "MXN"]}, []),
        ({"RATE_SOURCES": ["kraken", "coinbase"]}, ["rates.W002"]),
        ({"RATE_SOURCES": ["kraken", "coinbase"], "DEPEG_GUARD": False}, []),
        ({"RATE_SOURCES": ["kraken", "coinbase", "url:https://rates.example.com"]}, []),
        ({"RATE_AGREEMENT": "1"}, ["rates.E004"]),
        ({"RATE_AGREEMENT": "x"}, ["rates.E004"]),
        ({"RATE_MOST_AGE_SECONDS": 3600}, ["rates.E005"]),
        ({"RATE_MOST_AGE_SECONDS": 60}, ["rates.E005"]),
        ({"RATE_MOST_AGE_SECONDS": 119}, ["rates.E005"]),
        ({"RATE_MOST_AGE_SECONDS": 120}, []),
        ({"RATE_HOLD_SECONDS": 60}, ["rates.E006"]),
        ({}, []),
    ],
)
def test_settings_are_checked(settings: Any, changed: dict[str, Any], told: list[str]) -> None:
    price_in(settings, "EUR")
    for name, value in changed.items():
        setattr(settings, name, value)
    assert [message.id for message in run_checks() if str(message.id).startswith("rates.")] == told


def test_a_check_names_what_the_sources_cannot_do(settings: Any) -> None:
    price_in(settings, "BRL", "EUR", "SEK")
    settings.RATE_SOURCES = ["kraken", "coinbase"]
    told = {message.id: message.msg for message in run_checks()}
    assert "that give a rate of BRL, SEK:" in told["rates.E007"]
    assert "DEPEG_GUARD cannot see USDC lose its peg" in told["rates.W002"]


def test_a_rate_outlasts_two_passes_of_the_task(settings: Any) -> None:
    assert TIMETABLE["fetch rates"]["schedule"] == timedelta(seconds=EVERY)
    price_in(settings, "EUR")
    settings.RATE_MOST_AGE_SECONDS = 60
    [message] = [one for one in run_checks() if one.id == "rates.E005"]
    assert "RATE_MOST_AGE_SECONDS is 60" in message.msg
    assert message.hint == "Set it to 120 to 600, or leave it out: it is 180 then."
