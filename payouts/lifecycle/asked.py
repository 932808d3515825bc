"""Notes in the audit log what each API key asked for, day by day: what a stolen key asks for stands in one line."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from django.db import connection, transaction

from accounts.audit.service import record
from accounts.models import AuditEntry, Merchant
from gateway.core.money import EXACT, from_units
from wallets.networks import decimals_of

_ACTION: Final = "payout.key_asked"
# A request of the last moment of a day may be committed a little later.
_GRACE: Final = timedelta(hours=1)
# Days on which no worker ran are made up for.
_SPAN: Final = timedelta(days=31)

# In the chain and token that were asked for: the recipient may have chosen others since.
_ASKED: Final = """
    SELECT merchant_id, requested_key, (created_at AT TIME ZONE 'UTC')::date AS day, mode,
           COALESCE(choices->0->>0, chain) AS first_chain, COALESCE(choices->0->>1, token) AS first_token,
           count(*), sum(units)
    FROM payouts_payout
    WHERE requested_key <> '' AND created_at >= %s AND created_at < %s
    GROUP BY merchant_id, requested_key, day, mode, first_chain, first_token
    ORDER BY merchant_id, day, requested_key
"""

_Place = tuple[str, str]
"""A key's public id, and a day such as `2026-11-20`."""


@dataclass(slots=True)
class _KeyDay:
    """What a key asked for on a day: how many refunds and payouts, and the sum of each token."""

    mode: str
    payouts: int = 0
    amounts: dict[str, Decimal] = field(default_factory=dict)

    def add(self, payouts: int, token: str, amount: Decimal) -> None:
        """Add payouts of a token."""
        self.payouts += payouts
        self.amounts[token] = EXACT.add(self.amounts.get(token, Decimal(0)), amount)

    def as_audited(self, day: str) -> dict[str, Any]:
        """Return the values as the audit log keeps them."""
        amounts = {token: f"{amount:f}" for token, amount in sorted(self.amounts.items())}
        return {"day": day, "mode": self.mode, "payouts": self.payouts, "amounts": amounts}


def note_asked(*, now: datetime) -> int:
    """Write an entry for each API key and ended day (UTC) on which it asked for refunds or payouts; return how many are new.

    A day has one entry of a key, however often and wherever this runs. Each merchant's are written together.
    """
    until = datetime.combine((now.astimezone(UTC) - _GRACE).date(), time(), UTC)
    since = until - _SPAN
    return sum(_note(merchant_id, asked, since=since, now=now) for merchant_id, asked in _asked(since, until).items())


def _asked(since: datetime, until: datetime) -> Mapping[int, Mapping[_Place, _KeyDay]]:
    """Return by merchant what keys asked for, the first day first."""
    found: defaultdict[int, dict[_Place, _KeyDay]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_ASKED, (since, until))
        for merchant_id, key_id, day, mode, chain, token, payouts, units in cursor:
            of_day = found[merchant_id].setdefault((key_id, day.isoformat()), _KeyDay(mode))
            of_day.add(payouts, token, from_units(units, decimals_of(chain, token)))
    return found


@transaction.atomic
def _note(merchant_id: int, asked: Mapping[_Place, _KeyDay], *, since: datetime, now: datetime) -> int:
    # Who comes second waits here, and then finds the entries.
    merchant = Merchant.objects.select_for_update(no_key=True).get(pk=merchant_id)
    entries = AuditEntry.objects.filter(merchant=merchant, action=_ACTION, created_at__gte=since)
    noted = {(key_id, (after or {}).get("day")) for key_id, after in entries.values_list("object_id", "after")}
    missing = {place: of_day for place, of_day in asked.items() if place not in noted}
    for (key_id, day), of_day in missing.items():
        record(merchant, action=_ACTION, object_id=key_id, after=of_day.as_audited(day), now=now)
    return len(missing)
