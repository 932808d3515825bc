"""Sources of rates: what each is asked, and how its answer is read. Every answer is hostile until it was read.

A source gives USD for one unit of a currency, or of a token. All are fetched by `gateway.core.fetching`: public addresses only, no
redirects, limited in time and size. One that cannot be read raises SourceError, whose message is for the operator.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from gateway.core import json
from gateway.core.api.errors import InvalidRequestError
from gateway.core.currencies import DECIMALS, RATE_DECIMALS, USD
from gateway.core.fetching import UnavailableTextError, fetch_text
from gateway.core.outbound import UrlPolicy, check_destination

TOKENS: Final = ("USDC", "USDT")
"""Tokens whose price is watched: below 0.98 USD they are not offered (`rates.rule.depegged`)."""
SECONDS: Final = 6.0
"""The time for one request. A source is asked eight things at most, and the task has a minute."""
DAILY: Final = "ecb"
EVERY: Final = 60
"""Seconds between two passes of the task that asks."""
DAILY_EVERY: Final = 3_600
"""Seconds between two requests for the daily rates."""

_MOST_BYTES: Final = 65_536
_EXACT: Final = Decimal(1).scaleb(-RATE_DECIMALS)
_CONTEXT: Final = Context(prec=50, rounding=ROUND_HALF_EVEN)
_MOST: Final = Decimal(1_000_000)
# In VND, one BTC was some billions.
_MOST_OF_ONE_BTC: Final = Decimal(10) ** 12
_NUMBER: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,24})?", re.ASCII)

Fetched = dict[str, tuple[Decimal, datetime]]
"""By currency or token: USD for one unit, and when that was so."""


class SourceError(Exception):
    """The source gave no usable answer. The message is for the operator."""


class SourceClient(Protocol):
    """A source. `name` is stored with each rate and shown to buyers."""

    @property
    def name(self) -> str: ...

    def may_price(self, what: str) -> bool:
        """Return whether it may have a rate of a currency, or a price of a token that moves; False where it never has."""
        ...

    def fetch(self, wanted: Collection[str], *, policy: UrlPolicy, now: Callable[[], datetime]) -> Fetched:
        """Return the rates that it has of the wanted currencies and tokens. Raises SourceError."""
        ...


@dataclass(frozen=True, slots=True)
class Kraken:
    """Kraken's public ticker: the middle of the best bid and the best ask. One request a pair, whose single entry is taken.

    https://docs.kraken.com/api/docs/rest-api/get-ticker-information. Its answers have pair names of their own, such as ZEURZUSD.
    """

    base: str = "https://api.kraken.com"
    name: str = "kraken"

    def may_price(self, what: str) -> bool:
        """Return whether it trades a pair of it."""
        return what in _KRAKEN_PAIRS

    def fetch(self, wanted: Collection[str], *, policy: UrlPolicy, now: Callable[[], datetime]) -> Fetched:
        """Return the rates of the pairs that it trades. A pair that fails is left out; raises SourceError if all do."""
        return _each_pair(_KRAKEN_PAIRS, wanted, lambda pair: (self._rate(pair, policy), now()))

    def _rate(self, pair: str, policy: UrlPolicy) -> Decimal:
        told = _json(_get(f"{self.base}/0/public/Ticker?pair={pair}", policy))
        if _part(told, "error"):
            raise SourceError(f"it refuses {pair}")
        entries = _part(told, "result")
        if not isinstance(entries, dict) or len(entries) != 1:
            raise SourceError(f"it does not answer one entry for {pair}")
        [entry] = entries.values()
        middle = _middle(pair, bid=_number(_first(_part(entry, "b"))), ask=_number(_first(_part(entry, "a"))))
        return middle if pair.endswith(USD) else _inverse(middle)


_KRAKEN_PAIRS: Final = {
    "USDC": "USDCUSD",
    "USDT": "USDTUSD",
    "EUR": "EURUSD",
    "GBP": "GBPUSD",
    "AUD": "AUDUSD",
    "CAD": "USDCAD",
    "CHF": "USDCHF",
    "JPY": "USDJPY",
}


@dataclass(frozen=True, slots=True)
class Bitstamp:
    """Bitstamp's public ticker: the middle of the best bid and the best ask, at the ticker's own time. One request a pair.

    https://www.bitstamp.net/api/#tag/Tickers: strings, `timestamp` in Unix seconds. With Kraken it makes two sources that price USDC.
    """

    base: str = "https://www.bitstamp.net"
    name: str = "bitstamp"

    def may_price(self, what: str) -> bool:
        """Return whether it trades a pair of it."""
        return what in _BITSTAMP_PAIRS

    def fetch(self, wanted: Collection[str], *, policy: UrlPolicy, now: Callable[[], datetime]) -> Fetched:
        """Return the rates of the pairs that it trades. A pair that fails is left out; raises SourceError if all do."""
        return _each_pair(_BITSTAMP_PAIRS, wanted, lambda pair: self._rate(pair, policy))

    def _rate(self, pair: str, policy: UrlPolicy) -> tuple[Decimal, datetime]:
        told = _json(_get(f"{self.base}/api/v2/ticker/{pair}/", policy))
        middle = _middle(pair, bid=_number(_part(told, "bid")), ask=_number(_part(told, "ask")))
        return middle, _unix_time(_part(told, "timestamp"))


_BITSTAMP_PAIRS: Final = {"USDC": "usdcusd", "USDT": "usdtusd", "EUR": "eurusd", "GBP": "gbpusd"}


@dataclass(frozen=True, slots=True)
class Coinbase:
    """Coinbase's exchange rates of USD, all in one answer: how much of each currency one USD is.

    https://docs.cdp.coinbase.com/coinbase-business/track-apis/exchange-rates. It takes USDC as one USD always.
    """

    base: str = "https://api.coinbase.com"
    name: str = "coinbase"

    def may_price(self, what: str) -> bool:
        """Return whether its number can move. It lists most currencies, and says which only by listing them."""
        return what != "USDC"

    def fetch(self, wanted: Collection[str], *, policy: UrlPolicy, now: Callable[[], datetime]) -> Fetched:
        """Return the rates that it lists. Raises SourceError."""
        told = _part(_json(_get(f"{self.base}/v2/exchange-rates?currency={USD}", policy)), "data")
        if _part(told, "currency") != USD:
            raise SourceError("it answers rates of another currency")
        rates, at = _part(told, "rates"), now()
        if not isinstance(rates, dict):
            raise SourceError("its rates are no object")
        return {one: (_inverse(_number(_part(rates, one))), at) for one in wanted if one in rates}


@dataclass(frozen=True, slots=True)
class BitPay:
    """BitPay's exchange rates: what one BTC is in each currency, all in one answer. A rate is what it is in USD by what it is in another.

    https://developer.bitpay.com/reference/rates, without a key (the `public` facade): `{"data": [{"code", "name", "rate"}]}`.
    Tokens are left out, because the page does not say that their numbers move.
    """

    base: str = "https://bitpay.com"
    name: str = "bitpay"

    def may_price(self, what: str) -> bool:
        """Return whether it may be asked. It lists most currencies, and says which only by listing them."""
        return what in DECIMALS

    def fetch(self, wanted: Collection[str], *, policy: UrlPolicy, now: Callable[[], datetime]) -> Fetched:
        """Return the rates that it lists. Raises SourceError."""
        entries = _part(_json(_get(f"{self.base}/rates/BTC", policy, {"X-Accept-Version": "2.0.0"})), "data")
        if not isinstance(entries, list):
            raise SourceError("its rates are no list")
        found = [(_part(entry, "code"), _part(entry, "rate")) for entry in entries]
        listed = {code: rate for code, rate in found if isinstance(code, str)}
        if len(listed) != len(found):
            raise SourceError("it lists a currency twice, or none")
        dollars, at = _number(_part(listed, USD), most=_MOST_OF_ONE_BTC), now()
        return {
            one: (_rounded(_CONTEXT.divide(dollars, _number(listed[one], most=_MOST_OF_ONE_BTC))), at)
            for one in wanted
            if one in listed and self.may_price(one)
        }


@dataclass(frozen=True, slots=True)
class EuropeanCentralBank:
    """The European Central Bank's daily reference rates of EUR. They bound other sources, and are never used as a rate.

    https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates
    """

    base: str = "https://www.ecb.europa.eu"
    name: str = DAILY

    def may_price(self, what: str) -> bool:
        """Return whether the bank lists it, by its page as it was in 2026."""
        return what in _ECB_LISTED

    def fetch(self, wanted: Collection[str], *, policy: UrlPolicy, now: Callable[[], datetime]) -> Fetched:
        """Return the rates that it lists, taken on its day. Raises SourceError."""
        # Read by patterns: a parser of XML would have to be kept from expanding entities.
        text = _get(f"{self.base}/stats/eurofxref/eurofxref-daily.xml", policy)
        day, listed = _ECB_DAY.search(text), dict(_ECB_RATE.findall(text))
        if day is None or USD not in listed:
            raise SourceError("it does not answer daily rates")
        try:
            at = datetime.strptime(day[1], "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            raise SourceError("it names no day") from None
        euro = _number(listed[USD])
        rates = {"EUR": euro} | {
            name: _rounded(_CONTEXT.divide(euro, _number(rate))) for name, rate in listed.items() if name in wanted
        }
        return {name: (_rounded(rate), at) for name, rate in rates.items() if name in wanted}


_ECB_LISTED: Final = frozenset(
    "EUR AUD BRL CAD CHF CNY CZK DKK GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NOK NZD PHP PLN RON SEK SGD THB TRY ZAR".split()
)
_ECB_DAY: Final = re.compile(r"""time=['"](\d{4}-\d{2}-\d{2})['"]""", re.ASCII)
_ECB_RATE: Final = re.compile(r"""currency=['"]([A-Z]{3})['"]\s+rate=['"]([0-9.]{1,20})['"]""", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fixed:
    """The operator's own rates, from the settings: offline, for tests and the demo. They are always as fresh as the last pass."""

    rates: Mapping[str, Decimal]
    name: str = "fixed"

    def may_price(self, what: str) -> bool:
        """Return whether the settings name it."""
        return what in self.rates

    def fetch(self, wanted: Collection[str], *, policy: UrlPolicy, now: Callable[[], datetime]) -> Fetched:
        """Return the rates."""
        return {currency: (rate, now()) for currency, rate in self.rates.items() if currency in wanted}


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A server of the operator's that answers `{"EUR": "1.0883"}`: USD for one unit, as strings. `header` is sent to it alone."""

    url: str
    header: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """Its host: buyers see it."""
        return (urlsplit(self.url).hostname or "")[:64]

    def may_price(self, what: str) -> bool:
        """Return True: what it lists is the operator's to know."""
        return True

    def fetch(self, wanted: Collection[str], *, policy: UrlPolicy, now: Callable[[], datetime]) -> Fetched:
        """Return the rates that it lists. Raises SourceError."""
        told = _json(_get(self.url, policy, dict([self.header]) if self.header else {}))
        if not isinstance(told, dict):
            raise SourceError("it does not answer an object")
        at = now()
        return {one: (_rounded(_number(told[one])), at) for one in wanted if one in told}


def parse_sources(entries: Collection[str], header: str = "") -> list[SourceClient]:
    """Return the sources of RATE_SOURCES, in their order: `kraken`, `coinbase`, `bitstamp`, `bitpay`, `ecb`,
    `fixed:EUR=1.09;GBP=1.27`, `url:https://…`.

    `header` is `Name: value`, for servers of the operator's. Raises ValueError, whose message names the entry, not the header.
    """
    found = [_source(entry.strip(), header) for entry in entries if entry.strip()]
    names = [source.name for source in found]
    if len(set(names)) != len(names):
        raise ValueError("two sources have one name")
    return found


def _source(entry: str, header: str) -> SourceClient:
    kind, _, rest = entry.partition(":")
    if entry in _PUBLIC:
        return _PUBLIC[entry]
    if kind == "fixed":
        return Fixed(dict(_fixed(rest)))
    if kind == "url":
        if urlsplit(rest).scheme not in {"http", "https"} or not urlsplit(rest).hostname:
            raise ValueError(f"{entry} names no server")
        return OwnServer(rest, _header(header))
    raise ValueError(f"{entry} is no source")


_BUILT_IN: Final[tuple[SourceClient, ...]] = (Kraken(), Coinbase(), Bitstamp(), BitPay(), EuropeanCentralBank())
_PUBLIC: Final[Mapping[str, SourceClient]] = {source.name: source for source in _BUILT_IN}


def _header(text: str) -> tuple[str, str] | None:
    name, _, value = (part.strip() for part in text.partition(":"))
    return (name, value) if name and value else None


def _fixed(text: str) -> Iterator[tuple[str, Decimal]]:
    for pair in text.split(";"):
        currency, _, rate = pair.partition("=")
        if currency not in DECIMALS and currency not in TOKENS:
            raise ValueError(f"fixed:{text} names no currency")
        try:
            yield currency, _rounded(_number(rate))
        except SourceError:
            raise ValueError(f"fixed:{text} has no rate for {currency}") from None


def _each_pair(
    pairs: Mapping[str, str], wanted: Collection[str], ask: Callable[[str], tuple[Decimal, datetime]]
) -> Fetched:
    """Ask for each wanted pair. One that fails is left out; raises SourceError if all do."""
    found: Fetched = {}
    error: SourceError | None = None
    for name, pair in pairs.items():
        if name not in wanted:
            continue
        try:
            found[name] = ask(pair)
        except SourceError as caught:
            error = caught
    if error is not None and not found:
        raise error
    return found


_WIDEST: Final = Decimal("1.02")


def _middle(pair: str, *, bid: Decimal, ask: Decimal) -> Decimal:
    # An empty book has no price.
    if not bid <= ask <= bid * _WIDEST:
        raise SourceError(f"bid and ask of {pair} are too far apart")
    return _rounded(_CONTEXT.divide(_CONTEXT.add(bid, ask), Decimal(2)))


_LAST_SECOND: Final = 253_402_300_799


def _unix_time(told: Any) -> datetime:
    """Return a time of whole seconds since 1970. Raises SourceError."""
    if not isinstance(told, str) or not re.fullmatch(r"[0-9]{1,12}", told, re.ASCII) or int(told) > _LAST_SECOND:
        raise SourceError("its answer has no usable time")
    return datetime.fromtimestamp(int(told), UTC)


def _get(url: str, policy: UrlPolicy, headers: Mapping[str, str] | None = None) -> str:
    try:
        check_destination(url, param="url", policy=policy)
        return fetch_text(
            url,
            policy=policy,
            seconds=SECONDS,
            most_bytes=_MOST_BYTES,
            headers={"Accept": "application/json, application/xml;q=0.9", **(headers or {})},
        )
    except InvalidRequestError:
        raise SourceError("it is not a public address") from None
    except UnavailableTextError as error:
        raise SourceError(str(error)) from None


def _json(text: str) -> Any:
    try:
        return json.loads(text.encode())
    except json.NotJsonError:
        raise SourceError("it does not answer JSON, or too much of it") from None


def _part(told: Any, name: str) -> Any:
    if not isinstance(told, dict) or name not in told:
        raise SourceError(f"its answer lacks {name}")
    return told[name]


def _first(told: Any) -> Any:
    if not isinstance(told, list) or not told:
        raise SourceError("its answer lacks a price")
    return told[0]


def _number(told: Any, *, most: Decimal = _MOST) -> Decimal:
    """Return a positive number, written as a string or as a JSON number. Raises SourceError."""
    text = told if isinstance(told, str) else json.number_text(told)
    if text is None or not _NUMBER.fullmatch(text) or not 0 < Decimal(text) <= most:
        raise SourceError("its answer has no usable number")
    return Decimal(text)


def _inverse(number: Decimal) -> Decimal:
    return _rounded(_CONTEXT.divide(Decimal(1), number))


def _rounded(rate: Decimal) -> Decimal:
    """Return a rate with as many decimals as are stored. Raises SourceError for one of which nothing is left, or over _MOST."""
    rounded = rate.quantize(_EXACT, context=_CONTEXT)
    # The inverse of a tiny number fits no column, and would keep the words of all other sources from being stored.
    if not 0 < rounded <= _MOST:
        raise SourceError("its answer has no usable number")
    return rounded
