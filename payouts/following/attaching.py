"""Attaches an outflow to the payout that it pays: to one, also where merchants of one owner watch one wallet.

A watcher writes an outflow once for each merchant that watches its wallet, and a constraint keeps each of these rows to one
payout. No constraint can say that the rows of one owner's merchants pay one payout together, because people come and go: who
attaches one waits for those who attach another. Merchants of other owners do not count: anybody may watch a wallet, and would
take what pays its owner's payouts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from accounts.states import Mode
from accounts.team.selectors import merchants_of_its_owners
from payouts.following.candidates import candidate_of
from payouts.models import Payout
from payouts.outflows.matching import PayoutCandidate
from payouts.states import PayoutStatus
from wallets.models import WatchedMovement
from wallets.states import Direction, TransferState, WatchPurpose
from wallets.transfers.movements import queue_movements

# A restore from backup voids approvals. What was approved before may have been sent in the lost time.
WAITS: Final = Q(status__in=(PayoutStatus.APPROVED, PayoutStatus.SENDING)) | Q(
    status=PayoutStatus.REQUESTED, approved_at__isnull=False
)
"""Condition of payouts that wait for their outflow, or have one that is not final."""

_TAKE_TURN: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 406))"


def attach(payout_id: int, movement_id: int) -> bool:
    """Attach a movement to a payout that waits for one; return whether that was done.

    A unique constraint refuses a movement that pays another payout already, whoever asks at once; so does `pays_elsewhere`.
    """
    waiting = Payout.objects.filter(WAITS, pk=payout_id, movement=None)
    try:
        with transaction.atomic():
            if pays_elsewhere(WatchedMovement.objects.select_related("wallet").get(pk=movement_id)):
                return False
            return bool(waiting.update(movement=movement_id, status=PayoutStatus.SENDING, objection=""))
    except IntegrityError as error:
        if "payout_of_one_movement" not in str(error):
            raise
        return False


def recipient_of(movement: WatchedMovement) -> str:
    """Return who got a movement's money; its wallet is loaded."""
    return movement.counterparty if movement.direction == Direction.OUT else movement.wallet.address


def pays_elsewhere(movement: WatchedMovement) -> bool:
    """Return whether the same money pays a payout of another merchant of this one's owners; hold a transaction.

    Until its end, nobody attaches that money for one of these merchants. The movement's wallet is loaded.
    """
    others = _others(movement)
    if not others:
        return False
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_TURN, [f"{movement.chain}:{movement.tx_hash}:{movement.position}:{movement.token}"])
    theirs = Payout.objects.filter(merchant__in=others, mode=movement.mode, chain=movement.chain)
    same = {f"movement__{name}": getattr(movement, name) for name in ("tx_hash", "position", "token")}
    return theirs.filter(address=recipient_of(movement), **same).exists()


@dataclass(frozen=True, slots=True)
class Rivals:
    """Payouts of other merchants of the same owners that wait for exactly an outflow, as those merchants see it, too, by `rows`."""

    candidates: Sequence[PayoutCandidate] = ()
    rows: Sequence[WatchedMovement] = ()


def rivals_of(movement: WatchedMovement) -> Rivals:
    """Return the rivals for an outflow of a listed wallet, which is loaded; none for another movement."""
    is_listed = movement.direction == Direction.OUT and movement.wallet.purpose == WatchPurpose.LIST
    others, key = _others(movement) if is_listed else [], bytes(movement.wallet.key)
    if not others:
        return Rivals()
    theirs: dict[str, Any] = {"wallet__merchant__in": others, "wallet__chain": movement.chain, "wallet__key": key}
    same = {name: getattr(movement, name) for name in ("mode", "tx_hash", "position", "token", "direction")}
    rows = WatchedMovement.objects.filter(wallet__purpose=WatchPurpose.LIST, **theirs, **same)
    seen = list(rows.exclude(state=TransferState.ORPHANED))
    waiting = Payout.objects.filter(
        WAITS,
        merchant__in=[row.merchant_id for row in seen],
        mode=movement.mode,
        chain=movement.chain,
        token=movement.token,
        address=movement.counterparty,
        units=movement.units,
        movement=None,
    )
    waiting = waiting.select_related("batch__wallet").prefetch_related("requests__batch", "surplus")
    return Rivals([_rival(one, movement, key) for one in waiting], seen)


def leave_to(rivals: Rivals, *, now: datetime) -> None:
    """Have those follow an outflow whose payout it pays.

    What is being followed at this moment is left alone: two would wait for each other.
    """
    rows = WatchedMovement.objects.filter(pk__in=[row.pk for row in rivals.rows], queued_at=None)
    free = rows.select_for_update(of=("self",), no_key=True, skip_locked=True)
    queue_movements(list(free.values_list("pk", flat=True)), now=now)


def _others(movement: WatchedMovement) -> list[int]:
    # A simulated transaction is of one merchant.
    return merchants_of_its_owners(movement.merchant_id) if movement.mode == Mode.LIVE else []


def _rival(payout: Payout, movement: WatchedMovement, key: bytes) -> PayoutCandidate:
    """Return a payout of another merchant as a candidate: that merchant has a row of its own of the wallet."""
    is_own = payout.batch is not None and bytes(payout.batch.wallet.key) == key
    return replace(candidate_of(payout), wallet_id=movement.wallet_id if is_own else None)
