"""Outflows of a time that a restore from backup lost: what was paid then may be asked for, and paid, once more.

A payout that the restored database still has is paid by an outflow of that time as by any other. One that is asked for again is
younger than the outflow, so matching passes it over: a person decides. Until a wallet was read again, nothing is paid from it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.states import Mode
from accounts.team.selectors import merchants_of_its_owners
from gateway.core.restores import Restore
from payouts.errors import SeemsPaidError
from payouts.models import Payout, PayoutSurplus
from payouts.outflows.matching import CLOCKS_DIFFER
from wallets.models import WatchedMovement, WatchedWallet
from wallets.selectors import chain_health
from wallets.states import Direction, TransferState, WatchPurpose, WatchStatus
from wallets.transfers.movements import queue_movements
from wallets.watched.selectors import history_since

COUNTS_FOR: Final = timedelta(days=30)
"""How long after it a restore counts: what it lost is asked for again long before."""


def lost_outflows(payout: Payout) -> list[WatchedMovement]:
    """Return what left a merchant's wallets in lost time and would pay a payout, if that were not younger; newest first."""
    made = payout.created_at - CLOCKS_DIFFER
    restores = Restore.objects.filter(lost_from__lte=payout.created_at, restored_at__gte=made - COUNTS_FOR)
    # What was handed out in the lost time may be paid as long as a batch that was cancelled cools.
    late = timedelta(hours=settings.PAYOUT_COOLING_HOURS)
    spans = [Q(block_time__range=(one.lost_from - CLOCKS_DIFFER, one.restored_at + late)) for one in restores]
    if not spans or payout.mode != Mode.LIVE or not payout.address:
        return []
    rows = unused_outflows([payout]).filter(reduce(or_, spans), counterparty=payout.address, units=payout.units)
    return list(rows.filter(block_time__lt=made).order_by("-block_time", "-pk"))


def with_lost_outflows(payouts: Iterable[Payout]) -> set[int]:
    """Return the keys of payouts that have `lost_outflows`; one query where no restore counts, which is nearly always."""
    asked = list(payouts)
    if not asked:
        return set()
    since = min(payout.created_at for payout in asked) - CLOCKS_DIFFER - COUNTS_FOR
    if not Restore.objects.filter(restored_at__gte=since).exists():
        return set()
    return {payout.pk for payout in asked if lost_outflows(payout)}


def seem_paid(payouts: Iterable[Payout]) -> list[Payout]:
    """Return those of one merchant's payouts of a mode, chain and token that an outflow fits which is not followed yet."""
    asked = list(payouts)
    rows = unused_outflows(asked).filter(counterparty__in={payout.address for payout in asked})
    since = min(payout.created_at for payout in asked) - CLOCKS_DIFFER
    found = list(rows.filter(block_time__gte=since).values_list("counterparty", "units", "block_time"))
    return [payout for payout in asked if any(_fits(payout, *outflow) for outflow in found)]


def fitting_outflows(payout: Payout) -> list[int]:
    """Return the keys of unused outflows that would pay a payout with an address."""
    rows = unused_outflows([payout]).filter(counterparty=payout.address, units=payout.units)
    return list(rows.filter(block_time__gte=payout.created_at - CLOCKS_DIFFER).values_list("pk", flat=True))


def may_return(payouts: Iterable[Payout], *, since: datetime) -> list[Payout]:
    """Return those of one merchant's payouts of a mode, chain and token that an outflow fits which a reorg has removed since then."""
    asked = list(payouts)
    if not asked:
        return []
    rows = _outflows_of(asked[0]).filter(state=TransferState.ORPHANED, orphaned_at__gte=since)
    found = rows.filter(counterparty__in={payout.address for payout in asked})
    gone = list(found.values_list("counterparty", "units", "block_time"))
    return [payout for payout in asked if any(_fits(payout, *outflow) for outflow in gone)]


@contextmanager
def following_what_fits(payouts: Iterable[Payout], *, now: datetime) -> Iterator[None]:
    """Hold a transaction, and where it is refused because payouts seem paid, have the outflows that fit them followed.

    What was found late, such as in the history of a wallet that is watched since, is on no queue, and would refuse it for ever.
    """
    try:
        with transaction.atomic():
            yield
    except SeemsPaidError:
        queue_movements([pk for payout in payouts for pk in fitting_outflows(payout)], now=now)
        raise


def _fits(payout: Payout, recipient: str, units: Decimal, at: datetime) -> bool:
    return (payout.address, payout.units) == (recipient, units) and at >= payout.created_at - CLOCKS_DIFFER


def unused_outflows(payouts: Iterable[Payout]) -> QuerySet[WatchedMovement]:
    """Return the standing outflows of the payouts' merchant, mode, chain and token that pay nothing and are no surplus.

    What pays another merchant of the same owners is left out, too.
    """
    first = next(iter(payouts))
    # Also as its recipient's side saw it: a person named what left a wallet that was not watched then.
    same = {f"movement__{name}": OuterRef(name) for name in ("chain", "tx_hash", "position", "token")}
    standing = (TransferState.DETECTED, TransferState.CONFIRMED)
    # By their address, for which there is an index: a merchant may have very many.
    merchants = [first.merchant_id, *merchants_of_its_owners(first.merchant_id)]
    theirs = Payout.objects.filter(
        merchant__in=merchants, mode=first.mode, chain=first.chain, address=OuterRef("counterparty"), address__gt=""
    )
    paid = theirs.filter(movement__state__in=standing, **same)
    surplus = PayoutSurplus.objects.filter(payout__merchant=first.merchant_id)
    free = _outflows_of(first).exclude(state=TransferState.ORPHANED)
    return free.exclude(Exists(paid)).exclude(pk__in=surplus.values("movement"))


def _outflows_of(payout: Payout) -> QuerySet[WatchedMovement]:
    """Return what left the listed wallets of a payout's merchant in its mode, chain and token."""
    return WatchedMovement.objects.filter(
        merchant=payout.merchant_id,
        mode=payout.mode,
        chain=payout.chain,
        token=payout.token,
        direction=Direction.OUT,
        wallet__purpose=WatchPurpose.LIST,
    )


def unread_since(wallet: WatchedWallet, *, now: datetime) -> datetime | None:
    """Return from when a restore lost what left a wallet, if that was not read again from its chain; else None."""
    if wallet.mode != Mode.LIVE:
        return None
    restores = list(Restore.objects.filter(restored_at__gte=now - COUNTS_FOR).order_by("lost_from"))
    if not restores:
        return None
    known = {health.chain: health.known_until for health in chain_health(now=now)}.get(wallet.chain)
    unread = (one.lost_from for one in restores if not _is_read(wallet, one, known))
    return next(unread, None)


def _is_read(wallet: WatchedWallet, restore: Restore, known_until: datetime | None) -> bool:
    """Whether `after_restore` read the chain up to its cursor, the watcher from there on, and both saw the wallet."""
    if wallet.chain in (restore.unread or ()) or known_until is None or known_until < restore.restored_at:
        return False
    if wallet.created_at <= restore.lost_from:
        return True
    return wallet.status == WatchStatus.ACTIVE and history_since(wallet) <= restore.lost_from
