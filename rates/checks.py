"""System checks of the settings of prices in other currencies than USD."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from gateway.core.currencies import DECIMALS, USD
from rates.selectors import guards_pegs
from rates.sources import DAILY, EVERY, TOKENS, SourceClient, parse_sources

_MOST_AGREEMENT: Final = Decimal("0.05")
_HINT: Final = "docs/guide/currencies.md shows how it is written."
# Two passes: while one asks, or after one that got no answer in time, the last rate must still be good.
_LEAST_AGE: Final = 2 * EVERY
_MOST_AGE: Final = 600
_HOLDS: Final = range(300, 86_401)


@register()
def prices_can_be_converted(**_: Any) -> list[CheckMessage]:
    """Check that currencies, sources and bounds can be read, and that a second source can confirm the first."""
    return list(_problems())


def _problems() -> Iterator[CheckMessage]:
    for currency in settings.PRICE_CURRENCIES:
        if currency not in DECIMALS or currency == USD:
            hint = "USD is always there, and currencies have two decimals or none."
            yield Error(f"PRICE_CURRENCIES cannot have {currency}.", hint=hint, id="rates.E001")
    try:
        found = parse_sources(settings.RATE_SOURCES)
    except ValueError as error:
        yield Error(f"RATE_SOURCES: {error}.", hint=_HINT, id="rates.E002")
        return
    yield from _of_sources(found)
    if not _is_agreement(settings.RATE_AGREEMENT):
        yield Error("RATE_AGREEMENT is no share from 0 to 0.05.", hint=_HINT, id="rates.E004")
    if not _LEAST_AGE <= (age := settings.RATE_MOST_AGE_SECONDS) <= _MOST_AGE:
        told = f"RATE_MOST_AGE_SECONDS is {age}. Sources are asked every {EVERY} seconds, so prices would be refused in between."
        hint = f"Set it to {_LEAST_AGE} to {_MOST_AGE}, or leave it out: it is 180 then."
        yield Error(told if age < _LEAST_AGE else "RATE_MOST_AGE_SECONDS is too long.", hint=hint, id="rates.E005")
    if settings.RATE_HOLD_SECONDS not in _HOLDS:
        yield Error("RATE_HOLD_SECONDS is out of range.", hint="Set it to 300 to 86400.", id="rates.E006")


def _of_sources(found: list[SourceClient]) -> Iterator[CheckMessage]:
    """Check that each currency can get a rate from these sources, and that the guard of pegs can fire."""
    confirming = [source for source in found if source.name != DAILY]
    needed = 1 if settings.RATE_SINGLE_SOURCE else 2
    known = [one for one in settings.PRICE_CURRENCIES if one in DECIMALS and one != USD]
    if settings.PRICE_CURRENCIES and len(confirming) < needed:
        hint = "Name a second source, or set RATE_SINGLE_SOURCE=true: the checkout page then says so."
        yield Error("Nothing can confirm a rate.", hint=hint, id="rates.E003")
    elif lacking := [one for one in known if _pricing(one, confirming) < needed]:
        named, few = ", ".join(lacking), "none" if needed == 1 else "fewer than two"
        hint = f"Name a source that has them, such as a server of yours. {_HINT}"
        yield Error(
            f"RATE_SOURCES has {few} that give a rate of {named}: prices in them are refused.",
            hint=hint,
            id="rates.E007",
        )
    if settings.RATE_SINGLE_SOURCE and len(confirming) < 2:
        yield checks.Warning(
            "Prices rely on a single source.", hint="A second one would notice an error.", id="rates.W001"
        )
    daily = [source for source in found if source.name == DAILY]
    if unlisted := [one for one in known if daily and not _pricing(one, daily)]:
        hint = f"Take {DAILY} out of RATE_SOURCES, or them out of PRICE_CURRENCIES."
        told = f"The European Central Bank does not list {', '.join(unlisted)}: prices in them are refused while {DAILY} is named."
        yield checks.Warning(told, hint=hint, id="rates.W003")
    if blind := [token for token in TOKENS if confirming and guards_pegs() and _pricing(token, confirming) < 2]:
        hint = "Name kraken and bitstamp, or a server of yours that prices it, or set DEPEG_GUARD=false."
        told = f"DEPEG_GUARD cannot see {' or '.join(blind)} lose its peg: fewer than two of RATE_SOURCES price it."
        yield checks.Warning(told, hint=hint, id="rates.W002")


def _pricing(what: str, sources: list[SourceClient]) -> int:
    return sum(source.may_price(what) for source in sources)


def _is_agreement(text: str) -> bool:
    try:
        share = Decimal(text)
    except InvalidOperation:
        return False
    return share.is_finite() and 0 < share <= _MOST_AGREEMENT
