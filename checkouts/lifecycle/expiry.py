"""Expires unpaid checkouts, once their chains were read far enough to be sure.

Also releases retired wallets that another merchant has proven.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction

from accounts.states import Mode
from checkouts.lifecycle.moves import expire
from checkouts.models import AmountReservation, Checkout
from checkouts.states import GRACE
from wallets.models import ReceivingWallet
from wallets.receiving.claims import claims_to_release, release_claim

log = structlog.get_logger(__name__)

BATCH = 500
# The offset within a sweep: some milliseconds.
LOOKED_AT = 2_000
# Buyers should not suffer from our outage, but at some point the merchant must get an outcome.
PATIENCE = timedelta(hours=24)
# A payment whose block time is within the grace still counts, so a live checkout expires only after each of its chains was
# read, in a pass begun after the grace, up to a head its sources agree on. Where a chain is read account by account, the
# account it was to be paid in counts. A test checkout has no chain to wait for, only the steps of its scenario. Undecided
# money in a merchant's wallet may belong to any checkout offered there. Parts of a large sum wait for a second node. Short
# money that a person accepted, and money that a person credited, reach their checkout within half a minute.
_DUE = """
    WITH unjudged AS MATERIALIZED (
        SELECT DISTINCT merchant_id, mode, chain FROM wallets_transfer
        WHERE queued_at IS NOT NULL AND decided_at IS NULL AND wallet_id IS NOT NULL)
    SELECT c.id FROM (
        SELECT * FROM checkouts_checkout
        WHERE status IN ('pending', 'underpaid') AND expires_at <= %(now)s::timestamptz AND {narrowed}
        ORDER BY expires_at
        LIMIT %(looked_at)s) c
    WHERE (c.mode = 'test'
           OR c.expires_at <= %(impatient_since)s::timestamptz
           OR NOT EXISTS (
                SELECT FROM jsonb_each(c.offers) AS offered(chain, offer)
                LEFT JOIN wallets_chaincursor k ON k.chain = offered.chain
                LEFT JOIN wallets_accountcursor a
                  ON a.chain = offered.chain AND a.address = offered.offer ->> 'wallet'
                WHERE (CASE WHEN a.id IS NULL THEN k.read_through_at ELSE a.read_through_at END
                       > c.expires_at + make_interval(secs => %(grace)s)) IS NOT TRUE))
      AND NOT EXISTS (
            SELECT FROM wallets_depositaddress d JOIN wallets_transfer t ON t.deposit_id = d.id
            WHERE d.nonce = c.deposit_nonce AND t.queued_at IS NOT NULL)
      AND (c.expires_at <= %(impatient_since)s::timestamptz
           OR NOT EXISTS (
                SELECT FROM unjudged u
                WHERE u.merchant_id = c.merchant_id AND u.mode = c.mode
                  AND c.offers -> u.chain ->> 'wallet' IS NOT NULL))
      AND NOT EXISTS (
            SELECT FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
            WHERE p.checkout_id = c.id AND (t.state = 'detected' OR t.queued_at IS NOT NULL))
      AND (c.expires_at <= %(impatient_since)s::timestamptz
           OR NOT EXISTS (
                SELECT FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
                JOIN wallets_witnessrequest w ON w.transfer_id = t.id
                WHERE p.checkout_id = c.id AND w.answered_at IS NULL AND t.state <> 'orphaned'))
      AND (c.expires_at <= %(impatient_since)s::timestamptz
           OR NOT EXISTS (
                SELECT FROM checkouts_acceptance a
                WHERE a.checkout_id = c.id AND a.done_at IS NULL AND a.undone_at IS NULL AND a.failed_at IS NULL
                UNION ALL
                SELECT FROM checkouts_inboxdecision d
                WHERE d.checkout_id = c.id AND d.done_at IS NULL AND d.undone_at IS NULL AND d.failed_at IS NULL))
      AND NOT EXISTS (
            SELECT FROM checkouts_teststep s
            WHERE s.checkout_id = c.id AND s.done_at IS NULL AND s.due_at <= c.expires_at)
    LIMIT %(batch)s
"""
_PAST = "checkouts_checkout WHERE status IN ('pending', 'underpaid') AND expires_at <= %(now)s::timestamptz"
_FROM_RANK = f"expires_at >= (SELECT expires_at FROM {_PAST} ORDER BY expires_at OFFSET %(rank)s LIMIT 1)"  # noqa: S608
_AMONG = "id = ANY(%(ids)s::bigint[])"
_COUNT = f"SELECT count(*) FROM (SELECT FROM {_PAST} LIMIT %(most)s) AS past"  # noqa: S608


def expire_due_checkouts(*, now: datetime) -> int:
    """Expire due checkouts; return how many.

    While a chain is not read, all checkouts offered on it wait, and checking all of them each time would be slow. So the
    oldest are checked, and a random sample of the others.
    """
    waiting = _count_past(now, most=LOOKED_AT + 1)
    total = _expire_from(0, now=now) if waiting else 0
    if waiting > LOOKED_AT:
        rank = secrets.randbelow(_count_past(now) or 1)
        total += _expire_from(rank, now=now)
    return total


def _expire_from(rank: int, *, now: datetime) -> int:
    """Expire a batch of due checkouts, starting at this rank counted from the oldest."""
    total = 0
    while expired := _expire_some(rank, now=now):
        total += expired
    return total


def _expire_some(rank: int, *, now: datetime) -> int:
    """Expire a batch; if one of its checkouts fails, expire the others one by one."""
    due = _due_ids(now, rank=rank)
    try:
        return _expire(due, now=now)
    except (OperationalError, InterfaceError):
        raise  # the server is down, or another worker interfered: no row is at fault
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
    # A worker that is crediting one of these holds its lock; the next sweep checks it again.
    checkouts = list(
        Checkout.objects.live().filter(pk__in=due).order_by("pk").select_for_update(of=("self",), skip_locked=True)
    )
    ids = [checkout.pk for checkout in checkouts]
    still_due = set(_due_ids(now, ids=ids)) if ids else set()
    expiring = [checkout for checkout in checkouts if checkout.pk in still_due]
    expire(expiring, now=now)
    return len(expiring)


@transaction.atomic
def expire_if_due(pk: int, *, now: datetime) -> bool:
    """Expire one checkout if it is due; return whether this call did it. Waits for a worker that changes it."""
    Checkout.objects.locked().get(pk=pk)
    return _expire([pk], now=now) == 1


def _due_ids(now: datetime, *, rank: int = 0, ids: Sequence[int] | None = None) -> list[int]:
    """Return due ids among a number of checkouts from a rank on, oldest first, or among `ids`."""
    parameters: dict[str, Any] = {
        "now": now,
        "impatient_since": now - PATIENCE,
        "grace": GRACE.total_seconds(),
        "rank": rank,
        "ids": ids,
        "looked_at": LOOKED_AT,
        "batch": BATCH,
    }
    statement = _DUE.format(narrowed=_FROM_RANK if ids is None else _AMONG)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [pk for (pk,) in cursor]


def _count_past(now: datetime, *, most: int | None = None) -> int:
    """Return how many are overdue and not expired, at most `most`."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"now": now, "most": most})
        return int(cursor.fetchone()[0])


def release_claims(*, now: datetime) -> int:
    """Release each retired wallet that is claimed and that no checkout needs; return how many."""
    idle = [wallet for wallet in claims_to_release(now=now) if not is_needed(wallet)]
    return sum(release_claim(wallet, now=now) for wallet in idle)


def is_needed(wallet: ReceivingWallet) -> bool:
    """Whether a live or cooling checkout of the wallet's merchant offered it.

    A checkout cools as long as its exact amount is reserved.
    """
    here = {f"offers__{wallet.chain}__wallet": wallet.address}
    live = Checkout.objects.live().filter(merchant=wallet.merchant_id, mode=Mode.LIVE, **here)
    cooling = AmountReservation.objects.filter(
        merchant=wallet.merchant_id,
        mode=Mode.LIVE,
        released_at=None,
        **{f"checkout__{name}": value for name, value in here.items()},
    )
    return live.exists() or cooling.exists()
