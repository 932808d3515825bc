"""System checks of the settings of prices in other currencies than USD."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from gateway.core.currencies import DECIMALS, USD
from rates.sources import DAILY, EVERY, parse_sources

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
        found = [source.name for source in parse_sources(settings.RATE_SOURCES)]
    except ValueError as error:
        yield Error(f"RATE_SOURCES: {error}.", hint=_HINT, id="rates.E002")
        return
    confirming = [name for name in found if name != DAILY]
    if settings.PRICE_CURRENCIES and len(confirming) < 2 and not settings.RATE_SINGLE_SOURCE:
        hint = "Name a second source, or set RATE_SINGLE_SOURCE=true: the checkout page then says so."
        yield Error("Nothing can confirm a rate.", hint=hint, id="rates.E003")
    if settings.RATE_SINGLE_SOURCE and len(confirming) < 2:
        yield checks.Warning(
            "Prices rely on a single source.", hint="A second one would notice an error.", id="rates.W001"
        )
    if not _is_agreement(settings.RATE_AGREEMENT):
        yield Error("RATE_AGREEMENT is no share from 0 to 0.05.", hint=_HINT, id="rates.E004")
    if not _LEAST_AGE <= (age := settings.RATE_MOST_AGE_SECONDS) <= _MOST_AGE:
        told = f"RATE_MOST_AGE_SECONDS is {age}. Sources are asked every {EVERY} seconds, so prices would be refused in between."
        hint = f"Set it to {_LEAST_AGE} to {_MOST_AGE}, or leave it out: it is 180 then."
        yield Error(told if age < _LEAST_AGE else "RATE_MOST_AGE_SECONDS is too long.", hint=hint, id="rates.E005")
    if settings.RATE_HOLD_SECONDS not in _HOLDS:
        yield Error("RATE_HOLD_SECONDS is out of range.", hint="Set it to 300 to 86400.", id="rates.E006")


def _is_agreement(text: str) -> bool:
    try:
        share = Decimal(text)
    except InvalidOperation:
        return False
    return share.is_finite() and 0 < share <= _MOST_AGREEMENT
