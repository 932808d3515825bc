"""Expiring checkouts nobody paid, once the chains they were offered on were read far enough to be sure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction

from checkouts.matching import GRACE
from checkouts.models import Checkout
from checkouts.services.moves import expire

log = structlog.get_logger(__name__)

BATCH = 500
# An outage of ours is not the buyer's fault, but a merchant must know some day.
PATIENCE = timedelta(hours=24)

# A payment whose block time is within the grace still counts, so a live checkout expires only after each of its
# chains was read, in a pass begun after the grace, up to a head its sources agree on. Where a chain is read account by
# account, the account it was to be paid in counts. A test checkout has no chain to wait for, only the steps of its scenario.
#
# Money in a merchant's wallet that nobody has judged yet may be any checkout's that was offered there.
_DUE = """
    WITH unjudged AS MATERIALIZED (
        SELECT DISTINCT merchant_id, mode, chain FROM wallets_transfer
        WHERE queued_at IS NOT NULL AND decided_at IS NULL AND wallet_id IS NOT NULL)
    SELECT c.id FROM checkouts_checkout c
    WHERE c.status IN ('pending', 'underpaid')
      AND c.expires_at <= %(now)s::timestamptz
      AND (c.mode = 'test'
           OR c.expires_at <= %(impatient_since)s::timestamptz
           OR NOT EXISTS (
                SELECT FROM jsonb_each(c.offers) AS offered(chain, offer)
                LEFT JOIN wallets_chaincursor k ON k.chain = offered.chain
                LEFT JOIN wallets_accountcursor a
                  ON a.chain = offered.chain AND a.address = offered.offer ->> 'wallet'
                WHERE COALESCE(a.read_through_at, k.read_through_at) IS NULL
                   OR COALESCE(a.read_through_at, k.read_through_at)
                      <= c.expires_at + make_interval(secs => %(grace)s)))
      AND NOT EXISTS (
            SELECT FROM wallets_depositaddress d JOIN wallets_transfer t ON t.deposit_id = d.id
            WHERE d.nonce = c.deposit_nonce AND t.queued_at IS NOT NULL)
      AND NOT EXISTS (
            SELECT FROM unjudged u
            WHERE u.merchant_id = c.merchant_id AND u.mode = c.mode AND c.offers -> u.chain ->> 'wallet' IS NOT NULL)
      AND NOT EXISTS (
            SELECT FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
            WHERE p.checkout_id = c.id AND (t.state = 'detected' OR t.queued_at IS NOT NULL))
      AND NOT EXISTS (
            SELECT FROM checkouts_teststep s
            WHERE s.checkout_id = c.id AND s.done_at IS NULL AND s.due_at <= c.expires_at)
    ORDER BY c.expires_at
    LIMIT %(batch)s
"""


def expire_due_checkouts(*, now: datetime) -> int:
    """Expire what is due; return how many checkouts did."""
    total = 0
    while expired := _expire_some(now=now):
        total += expired
    return total


def _expire_some(*, now: datetime) -> int:
    """Expire a batch; where one of its checkouts cannot be, each of the others."""
    due = _due_ids(now)
    try:
        return _expire(due, now=now)
    except (OperationalError, InterfaceError):
        raise  # the server is away, or another worker was in the way: nobody's row is to blame
    except Exception:
        log.exception("a batch of checkouts failed to expire; taking them one by one")
        return _expire_one_by_one(due, now=now)


def _expire_one_by_one(due: Sequence[int], *, now: datetime) -> int:
    expired = 0
    for pk in due:
        try:
            expired += _expire([pk], now=now)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("checkout not expired", checkout=pk)
    return expired


@transaction.atomic
def _expire(due: Sequence[int], *, now: datetime) -> int:
    # Whoever credits one of these right now holds its lock; the next sweep looks at it again.
    checkouts = list(
        Checkout.objects.live()
        .filter(pk__in=due)
        .order_by("pk")
        .select_for_update(of=("self",), skip_locked=True)
    )
    still_due = set(_due_ids(now)) if checkouts else set()
    expiring = [checkout for checkout in checkouts if checkout.pk in still_due]
    expire(expiring, now=now)
    return len(expiring)


def _due_ids(now: datetime) -> list[int]:
    parameters: dict[str, Any] = {
        "now": now,
        "impatient_since": now - PATIENCE,
        "grace": GRACE.total_seconds(),
        "batch": BATCH,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DUE, parameters)
        return [pk for (pk,) in cursor]
