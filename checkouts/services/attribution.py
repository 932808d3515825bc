"""Crediting transfers: the queue of changed facts, taken in batches, each batch one transaction.

Locks are taken in the order every writer keeps: transfers, checkouts by id, then counters and events. Nobody waits for
a transfer's lock here: what another worker deals with is passed over.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet

from checkouts.matching import (
    CheckoutFacts,
    Credit,
    ToInbox,
    TransferFacts,
    decide_deposit,
)
from checkouts.models import Checkout, InboxItem, Payment
from checkouts.services.moves import recompute
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from wallets.models import Transfer
from wallets.networks import is_accepted
from wallets.states import ClaimKind, TransferState

log = structlog.get_logger(__name__)

BATCH = 500
# Behind everything queued by then; each sweep tries again.
_SET_ASIDE = timedelta(minutes=1)


def attribute_transfers(*, now: datetime, batch: int = BATCH) -> int:
    """Deal with every queued transfer; return how many there were. Safe to run many times at once."""
    total = 0
    while dealt_with := _attribute_some(now=now, batch=batch):
        total += dealt_with
    return total


def _attribute_some(*, now: datetime, batch: int) -> int:
    """Deal with a batch; where one of its transfers cannot be dealt with, with each of the others."""
    try:
        return _attribute_batch(now=now, batch=batch)
    except (OperationalError, InterfaceError):
        raise  # the server is away, or another worker was in the way: nobody's row is to blame
    except Exception:
        log.exception("a batch of transfers failed; taking them one by one")
        return _attribute_one_by_one(now=now, batch=batch)


def _attribute_one_by_one(*, now: datetime, batch: int) -> int:
    """Deal with each transfer by itself, so that one nobody foresaw holds up no merchant but its own."""
    dealt_with = 0
    for pk in list(Transfer.objects.queued().values_list("pk", flat=True)[:batch]):
        try:
            dealt_with += _attribute(Transfer.objects.queued().filter(pk=pk), now=now)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("transfer set aside", transfer=pk)
            Transfer.objects.filter(pk=pk).update(queued_at=now + _SET_ASIDE)
    return dealt_with


def _attribute_batch(*, now: datetime, batch: int) -> int:
    return _attribute(Transfer.objects.queued()[:batch], now=now)


@transaction.atomic
def _attribute(queued: QuerySet[Transfer], *, now: datetime) -> int:
    transfers = _take(queued)
    if not transfers:
        return 0
    checkouts = _lock_checkouts(transfers)
    outcome = _decide(transfers, checkouts)
    _write_claims(outcome.credited, now)
    _write_payments(outcome.credited, now)
    _write_inbox(outcome.inbox, now)
    _write_inbox(_returned(transfers, checkouts), now)
    touched = {checkout.pk: checkout for _, checkout, _ in outcome.credited}
    touched |= {
        checkout.pk: checkout for checkout in _credited_before(transfers, checkouts)
    }
    recompute([touched[pk] for pk in sorted(touched)], now=now)
    _release(transfers, outcome.decided, now)
    return len(transfers)


class _Queued(NamedTuple):
    """A queued transfer, locked; `nonce` is that of the deposit address it went to. Model instances cost ten times more."""

    pk: int
    chain: str
    token: str
    units: Decimal
    block_time: datetime
    recipient: str
    state: str
    decided_at: datetime | None
    merchant_id: int
    mode: str
    nonce: bytes | None


def _take(queued: QuerySet[Transfer]) -> list[_Queued]:
    """Lock those of the queued transfers that nobody else is dealing with."""
    columns = [
        name if name != "nonce" else "deposit__nonce" for name in _Queued._fields
    ]
    # `no_key`: an alert about one of these, written by somebody who holds the checkout's lock, must not wait for us.
    rows = queued.select_for_update(
        skip_locked=True, of=("self",), no_key=True
    ).values_list(*columns)
    return [_Queued._make(row) for row in rows]


def _lock_checkouts(transfers: Iterable[_Queued]) -> dict[bytes, Checkout]:
    """Lock the checkouts whose addresses the transfers went to; keyed by deposit nonce."""
    nonces = {bytes(t.nonce) for t in transfers if t.nonce is not None}
    locked = Checkout.objects.locked().filter(deposit_nonce__in=nonces)
    return {bytes(checkout.deposit_nonce): checkout for checkout in locked}


@dataclass(slots=True)
class _Outcome:
    """What a batch was decided to be."""

    credited: list[tuple[_Queued, Checkout, str]] = field(default_factory=list)
    inbox: list[tuple[_Queued, Checkout | None, ToInbox]] = field(default_factory=list)

    @property
    def decided(self) -> set[int]:
        return {t.pk for t, *_ in self.credited} | {t.pk for t, *_ in self.inbox}


def _decide(transfers: Sequence[_Queued], checkouts: dict[bytes, Checkout]) -> _Outcome:
    """Decide what was never decided; what a reorganisation removed waits until it returns."""
    outcome = _Outcome()
    for transfer in transfers:
        if transfer.decided_at is not None or transfer.state == TransferState.ORPHANED:
            continue
        checkout = _checkout_of(transfer, checkouts)
        if checkout is None:
            no_checkout = ToInbox(
                InboxReason.UNMATCHED, "no checkout belongs to this address"
            )
            outcome.inbox.append((transfer, None, no_checkout))
            continue
        decision = decide_deposit(_facts(transfer), _checkout_facts(checkout))
        if isinstance(decision, Credit):
            outcome.credited.append((transfer, checkout, decision.reason))
        else:
            outcome.inbox.append((transfer, checkout, decision))
    return outcome


def _checkout_of(
    transfer: _Queued, checkouts: dict[bytes, Checkout]
) -> Checkout | None:
    return checkouts.get(bytes(transfer.nonce)) if transfer.nonce is not None else None


def _facts(transfer: _Queued) -> TransferFacts:
    return TransferFacts(
        chain=transfer.chain,
        token=transfer.token,
        accepted=is_accepted(transfer.chain, transfer.token),
        units=int(transfer.units),
        block_time=transfer.block_time,
        recipient=transfer.recipient,
    )


def _checkout_facts(checkout: Checkout) -> CheckoutFacts:
    return CheckoutFacts(
        status=CheckoutStatus(checkout.status),
        offers=checkout.offers,
        expires_at=checkout.expires_at,
    )


def _credited_before(
    transfers: Iterable[_Queued], checkouts: dict[bytes, Checkout]
) -> list[Checkout]:
    """Return the checkouts of transfers decided earlier whose facts changed since."""
    found = (_checkout_of(t, checkouts) for t in transfers if t.decided_at is not None)
    return [checkout for checkout in found if checkout is not None]


def _returned(
    transfers: Iterable[_Queued], checkouts: dict[bytes, Checkout]
) -> list[tuple[_Queued, Checkout | None, ToInbox]]:
    """Return credited money that a reorganisation took and that came back when its checkout had expired.

    Expiry waits for credited transfers to become final, so one whose facts change afterwards has been away.
    """
    back = {
        transfer.pk: (transfer, checkout)
        for transfer in transfers
        if transfer.decided_at is not None
        and transfer.state != TransferState.ORPHANED
        and (checkout := _checkout_of(transfer, checkouts)) is not None
        and checkout.status == CheckoutStatus.EXPIRED
    }
    if not back:
        return []
    credited = Payment.objects.filter(transfer__in=list(back)).exclude(
        transfer__inbox_items__reason=InboxReason.LATE
    )
    late = ToInbox(
        InboxReason.LATE,
        "a reorganisation took this transfer, and it returned after the checkout expired",
    )
    return [(*back[payment.transfer_id], late) for payment in credited.order_by("pk")]


_CLAIM = """
    INSERT INTO wallets_transferclaim (transfer_id, kind, claimed_at)
    SELECT id, %s, %s::timestamptz FROM unnest(%s::bigint[]) AS t(id)
"""
_PAY = """
    INSERT INTO checkouts_payment (checkout_id, transfer_id, reason, credited_at)
    SELECT checkout_id, transfer_id, reason, %s::timestamptz
    FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS p(checkout_id, transfer_id, reason)
"""
_RELEASE = """
    UPDATE wallets_transfer
    SET queued_at = NULL,
        decided_at = CASE WHEN id = ANY(%s::bigint[]) THEN %s::timestamptz ELSE decided_at END
    WHERE id = ANY(%s::bigint[])
"""


def _write_claims(
    credited: Sequence[tuple[_Queued, Checkout, str]], now: datetime
) -> None:
    """Claim the transfers; the primary key refuses one that is in use already."""
    if credited:
        ids = [transfer.pk for transfer, _, _ in credited]
        with connection.cursor() as cursor:
            cursor.execute(_CLAIM, [ClaimKind.CHECKOUT.value, now, ids])


def _write_payments(
    credited: Sequence[tuple[_Queued, Checkout, str]], now: datetime
) -> None:
    if credited:
        with connection.cursor() as cursor:
            cursor.execute(
                _PAY,
                [
                    now,
                    [checkout.pk for _, checkout, _ in credited],
                    [transfer.pk for transfer, _, _ in credited],
                    [reason for _, _, reason in credited],
                ],
            )


def _write_inbox(
    items: Sequence[tuple[_Queued, Checkout | None, ToInbox]], now: datetime
) -> None:
    InboxItem.objects.bulk_create(
        InboxItem(
            merchant_id=transfer.merchant_id,
            mode=transfer.mode,
            transfer_id=transfer.pk,
            checkout=checkout,
            reason=decision.reason,
            explanation=decision.explanation,
            # Dust is kept for the books, not for anybody's attention.
            status=(
                InboxStatus.DISMISSED
                if decision.reason == InboxReason.DUST
                else InboxStatus.OPEN
            ),
            created_at=now,
        )
        for transfer, checkout, decision in items
    )


def _release(transfers: Sequence[_Queued], decided: set[int], now: datetime) -> None:
    """Take the batch off the queue. The watcher cannot have changed these rows: we hold their locks."""
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE, [list(decided), now, [t.pk for t in transfers]])
