"""What rates are known now, and whether they may be used. Only prices in other currencies than USD need them."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from threading import Lock
from typing import Final

from cachetools import TTLCache, cached
from django.conf import settings
from django.utils import timezone

from accounts.models import Merchant
from gateway.core.currencies import DECIMALS, USD, format_rate, usd_at
from gateway.core.postgres.replica import from_primary
from gateway.core.times import iso
from rates.errors import RateUnavailableError
from rates.models import Rate, RateTrouble
from rates.rule import Agreed, Policy, RateRefusal, SourceRate, agree, depegged
from rates.sources import DAILY, TOKENS, SourceClient, parse_sources

SHOWN_SECONDS: Final = 15
"""How long this process keeps what `GET /currencies` answers; a client may keep it as long, so it is half a minute old at most."""
_GUARD_SECONDS: Final = 5.0
_RECENT_SECONDS: Final = 5.0


def price_currencies() -> tuple[str, ...]:
    """Return the currencies that prices may be in beside USD, in the operator's order; none unless PRICE_CURRENCIES names some."""
    return tuple(settings.PRICE_CURRENCIES)


def has_prices() -> bool:
    """Return whether prices may be in another currency than USD."""
    return bool(settings.PRICE_CURRENCIES)


def is_priced(currency: object) -> bool:
    """Return whether prices may be in a currency, which is not USD."""
    return isinstance(currency, str) and currency in settings.PRICE_CURRENCIES


def is_sold_in(currency: str) -> bool:
    """Return whether something stored with a price in a currency, such as a link, may still begin a checkout."""
    return currency == USD or is_priced(currency)


def form_currency(merchant: Merchant) -> str:
    """Return the currency that a merchant's forms begin with: USD while prices may not be in the one that its owner chose."""
    return merchant.price_currency if is_priced(merchant.price_currency) else USD


def sources() -> list[SourceClient]:
    """Return the sources of the settings, in their order. Raises ValueError, which a system check tells first."""
    return list(_sources(tuple(settings.RATE_SOURCES), settings.RATE_URL_HEADER))


@lru_cache(maxsize=4)
def _sources(entries: tuple[str, ...], header: str) -> tuple[SourceClient, ...]:
    return tuple(parse_sources(entries, header))


def policy() -> Policy:
    """Return how this installation decides rates."""
    names = [source.name for source in sources()]
    return Policy(
        sources=tuple(name for name in names if name != DAILY),
        daily=DAILY if DAILY in names else "",
        most_age=timedelta(seconds=settings.RATE_MOST_AGE_SECONDS),
        agreement=Decimal(settings.RATE_AGREEMENT),
        is_single_allowed=settings.RATE_SINGLE_SOURCE,
    )


@from_primary
def readings_of(currencies: Collection[str]) -> Mapping[str, Sequence[SourceRate]]:
    """Return the last word of each source about currencies or tokens, in one query."""
    found: dict[str, list[SourceRate]] = defaultdict(list)
    rows = Rate.objects.filter(currency__in=currencies).values_list("currency", "source", "rate", "taken_at")
    for currency, *reading in rows:
        found[currency].append(SourceRate._make(reading))
    return found


@dataclass(frozen=True, slots=True)
class Worth:
    """What a price is in USD, and the rate that it was converted at."""

    usd: Decimal
    agreed: Agreed

    def evidence(self) -> list[dict[str, str]]:
        """Return what the sources said, as it is stored and the API shows it: the one that gave the rate first."""
        return [
            {"name": one.source, "rate": format_rate(one.rate), "taken_at": iso(one.taken_at)}
            for one in self.agreed.evidence
        ]


def worth_of(price: Decimal, currency: str, *, margin: Decimal, now: datetime) -> Worth:
    """Convert a price in another currency than USD at the rate of now, rounded up to a cent. Raises RateUnavailableError.

    Two sources must be closer for a large price (`rates.rule.LARGE_USD`).
    """
    rule, readings = policy(), readings_of([currency]).get(currency, ())
    agreed = agree(readings, rule, now=now)
    if isinstance(agreed, Agreed):
        usd = usd_at(price, agreed.rate, margin)
        agreed = agree(readings, rule, now=now, agreement=rule.agreement_for(usd))
    if isinstance(agreed, RateRefusal):
        raise RateUnavailableError(currency)
    return Worth(usd_at(price, agreed.rate, margin), agreed)


def agreed_for(currency: str, usd: Decimal, *, now: datetime) -> Worth | None:
    """Return `usd` with the rate of a currency that a price worth so much would get now; None while there is none.

    New checkouts in USD ask this where a token of the currency is offered, so what the sources said is seconds old.
    """
    if not is_priced(currency):
        return None
    rule = policy()
    agreed = agree(_recent_readings(currency), rule, now=now, agreement=rule.agreement_for(usd))
    return Worth(usd, agreed) if isinstance(agreed, Agreed) else None


@cached(TTLCache(64, _RECENT_SECONDS), lock=Lock())
def _recent_readings(currency: str) -> Sequence[SourceRate]:
    return readings_of([currency]).get(currency, ())


def rate_now(currency: str, amount: Decimal, *, now: datetime) -> Decimal | None:
    """Return USD for one unit of a currency, at the rate that a price of this amount would get now; None while there is none."""
    try:
        return worth_of(amount, currency, margin=Decimal(0), now=now).agreed.rate
    except RateUnavailableError:
        return None


@dataclass(frozen=True, slots=True)
class Quotable:
    """A currency that prices may be in, and its rate now; `agreed` is None while there is none."""

    currency: str
    decimals: int
    agreed: Agreed | None


@cached(TTLCache(1, SHOWN_SECONDS), lock=Lock())
def quotable_currencies() -> list[Quotable]:
    """Return USD and the currencies that prices may be in, SHOWN_SECONDS old at most."""
    names = price_currencies()
    told = readings_of(names) if names else {}
    found = [Quotable(USD, DECIMALS[USD], None)]
    for name in names:
        agreed = agree(told.get(name, ()), policy(), now=timezone.now())
        found.append(Quotable(name, DECIMALS[name], agreed if isinstance(agreed, Agreed) else None))
    return found


@dataclass(frozen=True, slots=True)
class KnownRate:
    """All that is known of a currency: what each source said last, and why there is no rate; None if there is one."""

    currency: str
    readings: Sequence[SourceRate]
    refusal: RateRefusal | None


def known_rates(*, now: datetime) -> list[KnownRate]:
    """Return what is known of each currency of prices, for operators; without a query if all prices are in USD."""
    names = price_currencies()
    told = readings_of(names) if names else {}
    found = []
    for name in names:
        readings = sorted(told.get(name, ()))
        agreed = agree(readings, policy(), now=now)
        found.append(KnownRate(name, readings, agreed if isinstance(agreed, RateRefusal) else None))
    return found


def known_pegs() -> Mapping[str, Sequence[SourceRate]]:
    """Return what each source said last about tokens; nothing where their pegs are not guarded."""
    return readings_of(TOKENS) if guards_pegs() else {}


def open_troubles(*, now: datetime) -> list[RateTrouble]:
    """Return the currencies that have no rate, and since when; without a query if all prices are in USD.

    A trouble that nobody noted, because no task runs, is among them. It is not stored.
    """
    names = price_currencies()
    if not names:
        return []
    found = {row.currency: row for row in RateTrouble.objects.filter(ended_at=None, currency__in=names)}
    for one in known_rates(now=now):
        if one.refusal is not None and one.currency not in found:
            found[one.currency] = RateTrouble(
                currency=one.currency, reason=one.refusal, readings=[], began_at=_ended_at(one, now)
            )
    return [found[name] for name in sorted(found)]


def _ended_at(one: KnownRate, now: datetime) -> datetime:
    """Return when the last word of a source about a currency became too old, at the latest now."""
    last = max((reading.taken_at for reading in one.readings if reading.source != DAILY), default=now)
    return min(last + policy().most_age, now)


def guards_pegs() -> bool:
    """Return whether tokens that lost their peg are left out of new checkouts: by default where sources are named."""
    return bool(settings.RATE_SOURCES) if settings.DEPEG_GUARD is None else settings.DEPEG_GUARD


def weak_tokens() -> frozenset[str]:
    """Return the tokens that new checkouts must not offer, some seconds old at most; without a query where nothing guards them."""
    return _weak_tokens() if guards_pegs() else frozenset()


@cached(TTLCache(1, _GUARD_SECONDS), lock=Lock())
def _weak_tokens() -> frozenset[str]:
    return depegged(readings_of(TOKENS), policy(), now=timezone.now())


def forget() -> None:
    """Clear this process's caches; other processes follow within seconds."""
    quotable_currencies.cache_clear()
    _weak_tokens.cache_clear()
    _recent_readings.cache_clear()
