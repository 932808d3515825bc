"""Sources of rates as they are in `answers/`, played by real servers on loopback; and rates as if they had been fetched."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.utils import timezone

from accounts.models import Merchant
from checkouts.models import Checkout, Quote
from rates.models import Rate
from rates.selectors import forget
from rates.sources import TOKENS
from tests.factories import NOON, make_checkout
from tests.webhooks.receiver import Got, Receiver, Reply, receiving

ANSWERS = Path(__file__).parent / "answers"
ROUTES = {
    "/0/public/Ticker?pair=EURUSD": "kraken_eurusd.json",
    "/0/public/Ticker?pair=USDJPY": "kraken_usdjpy.json",
    "/0/public/Ticker?pair=USDCUSD": "kraken_usdcusd.json",
    "/api/v2/ticker/eurusd/": "bitstamp_eurusd.json",
    "/api/v2/ticker/usdcusd/": "bitstamp_usdcusd.json",
    "/rates/BTC": "bitpay.json",
    "/v2/exchange-rates?currency=USD": "coinbase.json",
    "/stats/eurofxref/eurofxref-daily.xml": "ecb.xml",
}


def recorded(got: Got) -> Reply:
    """Answer as the service did; what was not recorded is Kraken's error for an unknown pair."""
    name = ROUTES.get(got.path)
    if name is None:
        return Reply(200, body=b'{"error":["EQuery:Unknown asset pair"]}')
    return Reply(200, body=(ANSWERS / name).read_bytes())


@contextmanager
def playing(reply: Callable[[Got], Reply] = recorded) -> Iterator[tuple[str, Receiver]]:
    """A server that plays all services; its address without a path, and what it was asked."""
    with receiving() as receiver:
        receiver.reply = reply
        parts = urlsplit(receiver.url)
        yield f"{parts.scheme}://{parts.netloc}", receiver


def price_in(settings: Any, *currencies: str) -> None:
    """Let prices be in currencies. The sources are named as the built-in ones, and nobody asks them."""
    settings.PRICE_CURRENCIES = list(currencies)
    settings.RATE_SOURCES = ["kraken", "coinbase", "bitstamp"]
    settings.RATE_SINGLE_SOURCE = False
    forget()


def make_quoted(merchant: Merchant | None = None, **facts: Any) -> Checkout:
    """A checkout of 25.03 USD whose price was 23.00 EUR unless told otherwise, with its quote."""
    checkout = make_checkout(
        merchant, **({"amount": Decimal("25.03"), "price": Decimal(23), "currency": "EUR"} | facts)
    )
    Quote.objects.create(
        checkout=checkout,
        currency=checkout.currency,
        price=Decimal(facts.get("price", 23)),
        usd_amount=checkout.amount,
        rate=Decimal("1.08826"),
        margin=Decimal(0),
        evidence=[{"name": "kraken", "rate": "1.088260", "taken_at": "2026-11-20T12:00:00.000000Z"}],
        taken_at=NOON,
    )
    return checkout


def store_rates(rates: Mapping[str, str], *, now: datetime | None = None, source: str = "") -> None:
    """Store rates as if two sources that have such a rate, or the named one, had just said so."""
    at = now or timezone.now()
    for currency, rate in rates.items():
        for name in [source] if source else ["kraken", "bitstamp" if currency in TOKENS else "coinbase"]:
            # No test may rest on what the service never says.
            assert (name, currency) != ("coinbase", "USDC") or Decimal(rate) == 1
            Rate.objects.update_or_create(
                currency=currency,
                source=name,
                defaults={"rate": Decimal(rate), "taken_at": at - timedelta(seconds=5), "fetched_at": at},
            )
    forget()
