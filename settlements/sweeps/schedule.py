"""Automatic settlements: each merchant's interval and minimum, and what is due by them."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import connection, transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError
from gateway.core.money import CENT, to_units
from gateway.core.texts import pgettext_noop
from settlements.gas.node import GasNode
from settlements.models import Settlement, SettlementSettings, TroubledForwarder
from settlements.sweeps.plan import MAY_BE_EMPTIED, WaitingFilter
from settlements.sweeps.service import sweep
from wallets.networks import chain_spec

MOST_HOURS = 31 * 24
MOST_MINIMUM = Decimal(1_000_000)


def settings_of(merchant: Merchant) -> SettlementSettings:
    """Return a merchant's settings; an unsaved row with defaults if there are none."""
    found = SettlementSettings.objects.filter(merchant=merchant).first()
    if found is None:
        found = SettlementSettings(merchant=merchant)
        # The field's default does not have the database's type yet.
        found.minimum = Decimal(found.minimum)
    return found


@transaction.atomic
def set_intervals(
    merchant: Merchant, *, minimum: Decimal, every_hours: int, actor: Actor, now: datetime
) -> SettlementSettings:
    """Settle automatically from `minimum` USD on, every so many hours; 0 for never. Raises InvalidRequestError.

    Of a token of another currency, the same number of tokens is the minimum.
    """
    if not 0 <= every_hours <= MOST_HOURS:
        raise InvalidRequestError(
            pgettext_noop("team", "The hours must be from 0 to {most}."),
            param="every_hours",
            values={"most": MOST_HOURS},
        )
    if not 0 <= minimum <= MOST_MINIMUM or minimum != minimum.quantize(CENT):
        raise InvalidRequestError(
            pgettext_noop("team", "The minimum must be from 0 to {most:,} USD, in whole cents."),
            param="minimum",
            values={"most": MOST_MINIMUM},
        )
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    settings = settings_of(merchant)
    before = _told(settings)
    settings.minimum, settings.every_hours = minimum, every_hours
    if _told(settings) == before:
        return settings
    settings.save()
    record(merchant, action="settlements.intervals_set", actor=actor, before=before, after=_told(settings), now=now)
    return settings


def _told(settings: SettlementSettings) -> dict[str, Any]:
    return {"minimum": f"{settings.minimum:.2f}", "every_hours": settings.every_hours}


# The totals that may be emptied, by merchant and purpose, against minimum and interval. Settlements that a person
# requested, or that moved nothing, do not delay the next automatic one.
_DUE: Final = f"""
    SELECT b.merchant_id, b.purpose
    FROM wallets_depositbalance b JOIN wallets_depositaddress d ON d.id = b.deposit_id
    LEFT JOIN settlements_settlementsettings s ON s.merchant_id = b.merchant_id
    WHERE b.chain = %(chain)s AND b.token = %(token)s AND b.received > b.flushed
      AND COALESCE(s.every_hours, %(every_hours)s) > 0
      AND {MAY_BE_EMPTIED}
      AND NOT EXISTS (SELECT FROM settlements_settlement l
                      WHERE l.merchant_id = b.merchant_id AND l.mode = 'live' AND l.purpose = b.purpose
                        AND l.chain = b.chain AND l.token = b.token AND l.is_scheduled AND l.status <> 'failed'
                        AND l.created_at > %(now)s::timestamptz
                            - make_interval(hours => COALESCE(s.every_hours, %(every_hours)s)))
    GROUP BY b.merchant_id, b.purpose, s.minimum
    HAVING sum(b.received - b.flushed) >= COALESCE(s.minimum, %(minimum)s) * %(usd)s
"""  # noqa: S608 - constants of ours
_DEFAULTS: Final = SettlementSettings()


def due_owners(chain: str, token: str, *, now: datetime) -> Sequence[tuple[int, str]]:
    """Return the merchants and purposes with a due automatic settlement of a token."""
    parameters: dict[str, Any] = {
        "chain": chain,
        "token": token,
        "now": now,
        "every_hours": _DEFAULTS.every_hours,
        "minimum": _DEFAULTS.minimum,
        "usd": to_units(Decimal(1)),
        "with_troubled": False,
        "most_failures": TroubledForwarder.MOST_FAILURES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DUE, parameters)
        return [(merchant_id, purpose) for merchant_id, purpose in cursor]


def sweep_due(chain: str, *, node: GasNode, now: datetime) -> list[Settlement]:
    """Sweep what is due on a chain, in batches across merchants; return the settlements. Raises ChainError."""
    written: list[Settlement] = []
    for token in chain_spec(chain).machine_tokens:
        owners = due_owners(chain, token.symbol, now=now)
        if owners:
            wanted = WaitingFilter(chain, token.symbol, owners=owners, is_scheduled=True)
            written += sweep(wanted, node=node, now=now)
    return written
