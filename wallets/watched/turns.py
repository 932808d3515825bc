"""The turns and progress of watched wallets' histories, kept in the wallets' rows so that a restart continues."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import F, QuerySet

from accounts.states import Mode
from wallets.chains.base import ChainError, ChainUnavailableError, RangeTooLargeError
from wallets.models import ChainCursor, WatchedWallet
from wallets.states import WatchStatus
from wallets.watchers.leases import LeaseLostError, is_held

UNAVAILABLE: Final = "The network's nodes do not answer. It is tried again."
TOO_MUCH: Final = "The network's nodes give less at once than was asked for. It is tried again."
UNSOUND: Final = "The network's nodes answered wrongly. It is tried again."


def importing(chain: str) -> QuerySet[WatchedWallet]:
    """Return a chain's watched wallets with an incomplete history."""
    return WatchedWallet.objects.filter(chain=chain, mode=Mode.LIVE, removed_at=None, status=WatchStatus.IMPORTING)


def next_group(chain: str, *, most: int, span: int | None) -> list[WatchedWallet]:
    """Return the wallet that waits longest, and others with similar progress to be read together.

    The others may be at most `span` blocks further; None for any number.
    """
    opened = importing(chain).exclude(history_until=None)
    leader = opened.order_by(F("history_read_at").asc(nulls_first=True), "pk").first()
    if leader is None:
        return []
    others = opened.filter(history_height__gte=leader.history_height)
    if span is not None:
        others = others.filter(history_height__lt=(leader.history_height or 0) + span)
    found = others.exclude(pk=leader.pk).order_by("history_height", "pk")
    return [leader, *found[: most - 1]]


_WRITE: Final = """
    UPDATE wallets_watchedwallet w
    SET history_height = GREATEST(w.history_height, n.height), history_read_at = %(now)s::timestamptz, history_error = '',
        status = CASE WHEN GREATEST(w.history_height, n.height) >= w.history_until THEN 'active' ELSE w.status END
    FROM unnest(%(ids)s::bigint[], %(heights)s::bigint[]) AS n(id, height)
    WHERE w.id = n.id AND w.history_until IS NOT NULL
"""


def write_turn(wallets: Sequence[WatchedWallet], heights: Sequence[int], *, now: datetime) -> None:
    """Write each wallet's progress in the caller's transaction, never back; complete ones become active."""
    parameters: dict[str, Any] = {"ids": [wallet.pk for wallet in wallets], "heights": list(heights), "now": now}
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, parameters)


def note_failure(chain: str, wallets: Sequence[WatchedWallet], error: ChainError, *, owner: str, now: datetime) -> None:
    """Record why a turn failed, and let the others have theirs. Raises LeaseLostError.

    The error's own text is not used: it names the operator's nodes.
    """
    with transaction.atomic():
        if not is_held(chain, owner):
            raise LeaseLostError(chain)
        rows = WatchedWallet.objects.filter(pk__in=[wallet.pk for wallet in wallets])
        rows.update(history_error=_words(error), history_read_at=now)


def check_lease(chain: str, owner: str, *, genesis: str) -> None:
    """Lock the cursor and check that we hold the lease of the same chain. Raises LeaseLostError."""
    rows = ChainCursor.objects.filter(chain=chain, genesis_hash=genesis)
    if not is_held(chain, owner) or not rows.exists():
        raise LeaseLostError(chain)


def _words(error: ChainError) -> str:
    if isinstance(error, RangeTooLargeError):
        return TOO_MUCH
    return UNAVAILABLE if isinstance(error, ChainUnavailableError) else UNSOUND
