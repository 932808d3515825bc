"""Asks the sources for rates, keeps their last words, and notes when a currency has no rate. Runs in a task, never in a request."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet

from accounts.team.operators import mail_operators
from gateway.core.currencies import DECIMALS, format_rate
from gateway.core.outbound import url_policy
from gateway.core.times import iso
from rates.models import Rate, RateTrouble
from rates.rule import SKEW, RateRefusal, SourceRate, agree
from rates.selectors import guards_pegs, policy, price_currencies, readings_of, sources
from rates.sources import DAILY, DAILY_EVERY, TOKENS, Fetched, SourceClient, SourceError

log = structlog.get_logger(__name__)

KEPT: Final = timedelta(days=30)
"""How long the operator's page remembers troubles."""
MAIL_AFTER: Final = timedelta(minutes=10)
"""A trouble that lasts this long is mailed to the operators."""

# A slow pass that ends after the next one writes nothing over it. A row of the future, which a worker whose clock was wrong wrote,
# would stay and keep its source silent until then.
_STORE: Final = """
    INSERT INTO rates_rate (currency, source, rate, taken_at, fetched_at)
    SELECT currency, source, rate, taken_at, %(now)s::timestamptz FROM unnest(
        %(currencies)b::text[], %(sources)b::text[], %(rates)b::numeric[], %(times)b::timestamptz[]
    ) AS told (currency, source, rate, taken_at)
    ON CONFLICT (currency, source) DO UPDATE
    SET rate = EXCLUDED.rate, taken_at = EXCLUDED.taken_at, fetched_at = EXCLUDED.fetched_at
    WHERE rates_rate.taken_at <= EXCLUDED.taken_at OR rates_rate.taken_at > EXCLUDED.fetched_at + %(skew)s::interval
"""


def wanted_rates() -> tuple[str, ...]:
    """Return what sources are asked for: the currencies of prices, and the tokens whose peg is guarded."""
    return (*price_currencies(), *(TOKENS if guards_pegs() else ()))


def fetch_rates(*, clock: Callable[[], datetime]) -> int:
    """Ask each source that is due, store what they say, and note troubles; return how many rates were stored.

    A source that fails keeps its last word, which soon is too old to be used.
    """
    wanted, began = wanted_rates(), clock()
    due = [source for source in sources() if source.name != DAILY or _daily_is_due(began)]
    told = _ask(due, wanted, clock) if wanted and due else {}
    stored = _store(told, now=clock())
    note_troubles(now=clock())
    return stored


def _daily_is_due(now: datetime) -> bool:
    """Return whether the daily rates are an hour old. All that are listed are kept, so a currency without one is not listed."""
    answered = Rate.objects.filter(
        source=DAILY, fetched_at__gt=now - timedelta(seconds=DAILY_EVERY), fetched_at__lte=now
    )
    return bool(price_currencies()) and not answered.exists()


def _ask(due: Sequence[SourceClient], wanted: Collection[str], clock: Callable[[], datetime]) -> dict[str, Fetched]:
    """Return what each source says, all asked at once: one that hangs must not make the others old."""
    urls = url_policy()

    def ask(source: SourceClient) -> Fetched:
        try:
            return source.fetch(DECIMALS if source.name == DAILY else wanted, policy=urls, now=clock)
        except SourceError as error:
            log.warning("a source of rates gave no answer", source=source.name, reason=str(error))
            return {}

    with ThreadPoolExecutor(max_workers=len(due)) as threads:
        return dict(zip([source.name for source in due], threads.map(ask, due), strict=True))


def _store(told: Mapping[str, Fetched], *, now: datetime) -> int:
    """Store what is not of the future; return how many rates were stored."""
    # In one order, so that two passes at once do not wait for each other's rows.
    rows = sorted(
        (currency, name, rate, at)
        for name, found in told.items()
        for currency, (rate, at) in found.items()
        if at <= now + SKEW
    )
    if not rows:
        return 0
    currencies, names, rates, times = zip(*rows, strict=True)
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"currencies": list(currencies), "sources": list(names), "rates": list(rates)}
        cursor.execute(_STORE, values | {"times": list(times), "now": now, "skew": SKEW})
        return int(cursor.rowcount)


def note_troubles(*, now: datetime) -> int:
    """Open a trouble for each currency that has no rate, close those that are over, and mail operators of one that lasts.

    Returns how many are open. Those that ended over 30 days ago are deleted.
    """
    names, rule = price_currencies(), policy()
    told = readings_of(names) if names else {}
    refused = {
        name: answer for name in names if isinstance(answer := agree(told.get(name, ()), rule, now=now), RateRefusal)
    }
    with transaction.atomic():
        RateTrouble.objects.filter(ended_at__lt=now - KEPT).delete()
        still_open = {row.currency: row for row in _open_ones().select_for_update().order_by("pk")}
        for currency, row in still_open.items():
            if currency not in refused:
                row.ended_at = now
                row.save(update_fields=["ended_at"])
            elif now - row.began_at >= MAIL_AFTER:
                _mail(row, refused[currency], now)
        RateTrouble.objects.bulk_create(
            [
                RateTrouble(currency=name, reason=reason, readings=_shown(told.get(name, ())), began_at=now)
                for name, reason in refused.items()
                if name not in still_open
            ],
            ignore_conflicts=True,
        )
    return _open_ones().count()


def _open_ones() -> QuerySet[RateTrouble]:
    return RateTrouble.objects.filter(ended_at=None)


def _shown(readings: Iterable[SourceRate]) -> list[dict[str, str]]:
    return [
        {"name": one.source, "rate": format_rate(one.rate), "taken_at": iso(one.taken_at)} for one in sorted(readings)
    ]


def _mail(row: RateTrouble, reason: RateRefusal, now: datetime) -> None:
    # The key makes it one mail for each trouble.
    mail_operators(
        f"rates:{row.currency}:{row.began_at.timestamp()}",
        subject=f"Prices in {row.currency} cannot be converted",
        text=_TEXT.format(
            currency=row.currency,
            since=f"{row.began_at:%Y-%m-%d %H:%M} UTC",
            reason=REASONS[reason],
            url=f"{settings.BASE_URL}/operator/rates/",
        ),
        now=now,
    )


REASONS: Final[Mapping[str, str]] = {
    RateRefusal.SILENT: "No source gave a rate in time.",
    RateRefusal.ALONE: "One source gave a rate in time, and no other confirms it.",
    RateRefusal.DISAGREE: "The sources do not agree.",
    RateRefusal.DAILY_MISSING: "The daily rate that bounds the others is missing or a week old.",
    RateRefusal.DAILY_FAR: "The sources are more than 5 % from the last daily rate.",
}
"""What each refusal means, for the operator."""
_TEXT: Final = """\
Checkouts with prices in {currency} are refused since {since}.

  {reason}

Prices in USD are not affected. What each source said:
{url}
"""
